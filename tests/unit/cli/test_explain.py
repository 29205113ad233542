"""`gpupool explain`: each value with the line that sets it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY, SMALL, copied

SAVIO = INVENTORY / "others" / "savio"


def values(done: Any) -> dict[str, tuple[str, int | None]]:
    one = json.loads(done.out)["explained"][0]
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


def texts(done: Any) -> dict[str, str]:
    return {key: value for key, (value, _) in values(done).items()}


def test_a_user_has_accounts_with_their_limits_qos_partitions_and_logins(gpupool: Callable[..., Any]) -> None:
    found = values(gpupool("explain", SAVIO, "u-robots1", "--json"))
    assert found["account.co_robots"] == ("default", 56)
    assert found["account.co_robots.cap"][0] == "40 GPUs"
    assert found["account.fc_optics.limits.per_user.gpus"] == ("a5000: 4", 50)
    assert found["account.fca.limits.group.gpus"][1] == 47, "a limit of an account above"
    assert found["qos.savio_lowprio"] == ("yes in lowprio", 68)
    assert found["qos.savio_debug"][0] == "yes in fc_optics (max_wall 3h, group.nodes 4, per_job.nodes 4)"
    assert found["partition.savio4_gpu"] == ("yes with account co_robots, fc_optics", 72)
    assert found["partition.savio_lowprio"][0] == "yes with account lowprio and QoS savio_lowprio"
    assert found["login.always"][0] == "ln[001-002]"
    assert found["login.never"][0] == "sched"


def test_each_no_to_a_user_has_its_reason_and_line(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    more = """  few: {everybody: false}
  old: {everybody: false}
partitions:
  - {name: blues, nodes: "@compute", allow_accounts: [blue]}
  - {name: reds-not, nodes: "@compute", deny_accounts: [red]}
  - {name: listed, nodes: "@compute", users: assigned}
  - {name: grouped, nodes: "@compute", allow_groups: [blue]}
  - {name: fewest, nodes: "@compute", qos: [few]}
"""
    grants = "account: red, grants: [{qos: old, until: 2001-01-31}]"
    site = copied(SMALL, tmp_path, ("partitions:\n", more), ("account: red", grants))
    found = values(gpupool("explain", site, "ann", "--json"))
    lines = (site / "inventory.yml").read_text().splitlines()
    seen = {key: (value, lines[(line or 0) - 1]) for key, (value, line) in found.items() if value.startswith("no: ")}
    assert {key: value for key, (value, _) in seen.items()} == {
        "qos.few": "no: neither the user nor an account has it",
        "qos.old": "no: the grant ended on 2001-01-31",
        "partition.blues": "no: only accounts blue",
        "partition.reds-not": "no: not accounts red",
        "partition.listed": "no: the user's `partitions` do not list it",
        "partition.grouped": "no: only groups blue",
        "partition.fewest": "no: only with QoS few",
    }
    assert all(key.partition(".")[2] in line for key, (_, line) in seen.items() if key != "qos.old"), seen
    assert "name: ann" in seen["qos.old"][1]


def test_a_user_whose_access_has_ended_has_nothing_else(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    site = copied(SMALL, tmp_path, ("account: red", "account: red, until: 2001-01-31"))
    found = texts(gpupool("explain", site, "ann", "--json"))
    assert found["access"] == "ended on 2001-01-31: no login, no new job"
    assert not [key for key in found if key.startswith(("partition", "qos", "login", "account."))]


def test_a_qos_has_its_users_and_partitions(gpupool: Callable[..., Any]) -> None:
    found = values(gpupool("explain", INVENTORY / "example", "patient", "--json"))
    assert found["everybody"][0] == "false"
    assert found["may use it"][0] == "u-robotics1"
    shown = gpupool("explain", INVENTORY / "example", "normal").out
    assert "QoS normal" in shown
    assert "u-vision1, u-robotics1" in shown


def test_one_key_is_one_line(gpupool: Callable[..., Any]) -> None:
    done = gpupool("explain", SMALL, "all", "max_time")
    assert done.out.splitlines() == [f"  max_time  2d  ({SMALL}/inventory.yml:20)"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["gpu-3"], "there is no node, partition, account, user or QoS 'gpu-3' (did you mean gpu-1?)"),
        (
            ["LLN"],
            "there is no node, partition, account, user or QoS 'LLN' (in an inventory, see "
            "partitions[].parameters.LLN)",
        ),
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
