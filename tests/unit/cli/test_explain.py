"""`gpupool explain`: each value with the line that sets it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from inventories import INVENTORY, SMALL


def values(done: Any) -> dict[str, tuple[str, int | None]]:
    (one,) = json.loads(done.out)
    return {entry["key"]: (entry["value"], entry["line"]) for entry in one["values"]}


def test_a_node_has_its_entry_its_hardware_and_its_values_in_slurm(gpupool: Callable[..., Any]) -> None:
    found = values(gpupool("explain", SMALL, "gpu-2", "--json"))
    assert found["address"] == ("10.90.2.2", 9)
    assert found["gpus"] == ("a40: 8", 9)
    assert found["hardware.cpus"] == ("64", 6)
    assert found["RealMemory"] == ("508559M", None)


def test_defaults_of_a_partition_have_no_line(gpupool: Callable[..., Any]) -> None:
    found = values(gpupool("explain", SMALL, "all", "--json"))
    assert found["max_time"] == ("2d", 20)
    assert found["tier"] == ("1", None)
    assert found["has"] == ("2 nodes, 16 GPUs, 128 CPUs", 19)
    assert found["accounts"] == ("red, blue", None)


def test_the_preempt_action_comes_from_the_cluster_or_the_qos(gpupool: Callable[..., Any]) -> None:
    found = values(gpupool("explain", INVENTORY / "skynet", "user-overcap", "--json"))
    assert found["preemptable"][0] == "true"
    assert found["preempt_action"] == ("requeue", 75)
    found = values(gpupool("explain", INVENTORY / "others" / "savio", "savio_lowprio", "--json"))
    assert found["preemptable"][0] == "by its QoS"
    assert "preempt_action" not in found


def test_a_name_of_both_an_account_and_a_partition_shows_both(gpupool: Callable[..., Any]) -> None:
    done = gpupool("explain", SMALL, "red")
    assert (done.code, [line for line in done.out.splitlines() if not line.startswith(" ")]) == (
        0,
        ["partition red", "account red"],
    )
    assert any("cap" in line and "10 GPUs" in line and "inventory.yml:11)" in line for line in done.out.splitlines())


def test_one_key_is_one_line(gpupool: Callable[..., Any]) -> None:
    done = gpupool("explain", SMALL, "all", "max_time")
    assert done.out.splitlines() == [f"  max_time  2d  ({SMALL}/inventory.yml:20)"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["gpu-3"], "there is no node, partition or account 'gpu-3' (did you mean gpu-1?)"),
        (["all", "max_tme"], "all has no value of 'max_tme' (did you mean max_time?)"),
    ],
)
def test_an_unknown_name_is_an_error(gpupool: Callable[..., Any], arguments: list[str], error: str) -> None:
    done = gpupool("explain", SMALL, *arguments)
    assert (done.code, done.out, done.err.strip()) == (2, "", error)


def test_an_inventory_with_errors_explains_nothing(gpupool: Callable[..., Any], tmp_path: Any) -> None:
    (tmp_path / "x.yml").write_text("schema: 2\n")
    done = gpupool("explain", tmp_path, "all")
    assert done.code == 2
    assert "x.yml:1: error: schema" in done.err
