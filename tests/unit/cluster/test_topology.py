"""A topology.conf in the inventory: with its nodes only, and with the plugin that reads it."""

import shutil
from pathlib import Path

import inventories
import pytest

from gpupool.cluster.load import examine


def complaints(folder: Path, plugin: str, text: str | None) -> list[str]:
    shutil.copy(inventories.SMALL / "inventory.yml", folder)
    if text is not None:
        (folder / "slurm").mkdir()
        (folder / "slurm" / "topology.conf").write_text(text)
    file = folder / "inventory.yml"
    keys = f"slurm: {{parameters: {{topologyplugin: {plugin}}}}}\nscheduler:" if plugin else "scheduler:"
    file.write_text(file.read_text().replace("scheduler:", keys, 1))
    return [str(complaint).partition("slurm.parameters: ")[2] for complaint in examine(folder).open]


@pytest.mark.parametrize("plugin", ["topology/tree", "topology/block"])
def test_a_plugin_that_reads_the_file_requires_the_file(plugin: str, tmp_path: Path) -> None:
    (complaint,) = complaints(tmp_path, plugin, None)
    assert complaint == f"{plugin} needs a topology.conf (write slurm/topology.conf beside the inventory)"


@pytest.mark.parametrize("plugin", ["", "topology/flat"])
def test_a_file_that_no_plugin_reads_is_a_complaint(plugin: str, tmp_path: Path) -> None:
    (complaint,) = complaints(tmp_path, plugin, "SwitchName=s1 Nodes=gpu-[1-2]\n")
    assert complaint == "slurm/topology.conf has no effect (set TopologyPlugin: topology/tree or topology/block)"


@pytest.mark.parametrize(
    ("line", "stranger"),
    [
        ("SwitchName=s1 Nodes=gpu-[1-2]", ""),
        ("SwitchName=s1 nodes=ALL", ""),
        ("SwitchName=s1 Nodes=gpu-1.small.example", ""),
        ("SwitchName=s1 Switches=s[2-3]", ""),
        ("# Nodes=gpu-9", ""),
        ("SwitchName=s1 Nodes=gpu-[1-4]", "gpu-3"),
        ("SwitchName=s1 Nodes=ctl", "ctl"),
        ("SwitchName=s1 Nodes=gpu-[1-", "gpu-[1-"),
    ],
)
def test_it_may_name_compute_nodes_only(line: str, stranger: str, tmp_path: Path) -> None:
    found = complaints(tmp_path, "topology/tree", f"\n{line}\n")
    assert found == ([f"slurm/topology.conf:2: {stranger!r} is not a compute node"] if stranger else [])
