"""A node has keys of `hardware` itself: instead of an entry, or to override it."""

from pathlib import Path

import pytest
from inventories import SMALL, changed, copied

from gpupool.cluster.explain import explain
from gpupool.cluster.load import examine, load
from gpupool.compile.slurm.conf import slurm_conf

OLD = "roles: [compute], hardware: box, gpus: {a40: 8}"
ENTRY = "hardware:\n  box: {cpus: 64, memory: 512G, gpu_slots: 8, cpus_kept_per_gpu: 6}\n"
KEYS = "cpus: 64, memory: 512G, cpus_kept_per_gpu: 6, gpus: {a40: 8}"


def complaints(inventory: Path) -> list[str]:
    return [str(located).split(": ", 1)[1] for located in examine(inventory).open]


def test_a_node_with_its_own_keys_is_the_same_as_one_with_an_entry(tmp_path: Path) -> None:
    own = changed(SMALL, tmp_path / "own", (ENTRY, ""), (OLD, KEYS))
    assert slurm_conf(own) == slurm_conf(load(SMALL))


def test_keys_of_a_node_override_those_of_its_entry(tmp_path: Path) -> None:
    node = changed(SMALL, tmp_path / "own", (OLD, f"{OLD}, memory: 1T, weight: 5")).nodes["gpu-2"]
    assert (node.cpus, node.cpus_kept, node.memory) == (64, 6, 1024 * 1024 * 97 // 100)
    assert node.hardware
    assert node.hardware.weight == 5


def test_a_nodes_nominal_memory_replaces_the_measured_memory_of_its_entry(tmp_path: Path) -> None:
    measured = ("memory: 512G, gpu_slots", "real_memory: 515283, gpu_slots")
    node = changed(SMALL, tmp_path / "own", measured, (OLD, f"{OLD}, memory: 1T")).nodes["gpu-1"]
    assert node.memory == 1024 * 1024 * 97 // 100


@pytest.mark.parametrize("keys", ["cores: 64", "sockets: 2, cores: 16, threads: 2"])
def test_cpus_are_by_default_sockets_times_cores_times_threads(keys: str, tmp_path: Path) -> None:
    of_node = changed(SMALL, tmp_path / "node", (ENTRY, ""), (OLD, KEYS.replace("cpus: 64", keys)))
    of_entry = changed(SMALL, tmp_path / "entry", ("{cpus: 64", f"{{{keys}"))
    over_it = changed(SMALL, tmp_path / "both", ("{cpus: 64", "{cpus: 128"), (OLD, f"{OLD}, {keys}"))
    assert {cluster.nodes["gpu-1"].cpus for cluster in (of_node, of_entry, over_it)} == {64}


def test_complaints_are_at_the_line_that_has_the_key(tmp_path: Path) -> None:
    own = complaints(copied(SMALL, tmp_path / "own", (OLD, f"{OLD}, real_memory: 9000000, memory: 512G")))
    assert own == [
        "error: nodes[1].real_memory: 9000000M is more than the nominal 512G (correct one of them, or remove memory)"
    ]
    of_entry = complaints(copied(SMALL, tmp_path / "entry", ("gpu: 6}", "gpu: 9}"), (OLD, f"{OLD}, weight: 5")))
    assert of_entry == [
        "error: hardware.box.cpus_kept_per_gpu: 8 x 9 CPUs reserved for the GPUs of gpu-[1-2], which has 64 CPUs"
    ]


@pytest.mark.parametrize("role", ["compute", "head"])
def test_memory_without_cpus_is_a_complaint(role: str, tmp_path: Path) -> None:
    node = f"{{name: more, address: 10.90.3.1, roles: [{role}], memory: 64G}}\n"
    new = ("  - {name: ctl,", f"  - {node}  - {{name: ctl,")
    two = ("  box: {", "  other: {cpus: 4, memory: 8G}\n  box: {")
    found = complaints(copied(SMALL, tmp_path / "own", new, two))
    hint = "(set cpus, as `slurmd -C` prints it, or name an entry of `hardware:`)"
    assert f"error: nodes[0]: more has memory, but no cpus {hint}" in found


def test_equal_nodes_have_one_complaint(tmp_path: Path) -> None:
    rows = "".join(f"  - {{name: n{row}, address: 10.90.3.{row}, cpus: 8}}\n" for row in (1, 2))
    found = complaints(copied(SMALL, tmp_path / "own", ("  - {name: ctl,", f"{rows}  - {{name: ctl,")))
    assert [line for line in found if line.startswith("error: nodes")] == [
        "error: nodes[0]: has no memory (set memory, or real_memory as `slurmd -C` prints it)"
    ]


def test_selectors_do_not_name_keys_of_nodes_as_hardware(tmp_path: Path) -> None:
    folder = copied(SMALL, tmp_path / "own", (OLD, f"{OLD}, weight: 5"), ('nodes: "@compute"', 'nodes: "@hardware:x"'))
    assert any("known: " in line and "nodes[" not in line for line in complaints(folder))


def test_explain_shows_the_keys_of_the_node_and_of_its_entry(tmp_path: Path) -> None:
    loaded = examine(copied(SMALL, tmp_path / "own", (OLD, f"{OLD}, memory: 1T")))
    (node,) = explain(loaded, "gpu-1")
    shown = {value.key: value.value for value in node.values}
    assert (shown["memory"], shown["hardware"], shown["hardware.cpus"]) == ("1T", "box", "64")
    assert "hardware.memory" not in shown
