"""Nodes of a running cluster are asked, and what differs from their lines is named."""

import subprocess
from pathlib import Path

import pytest

from gpupool.adopt import asked
from gpupool.adopt.folder import Folder
from gpupool.adopt.slurm_conf import Entry, SlurmConf, read
from gpupool.errors import GpupoolError
from gpupool.shell import shell_file

CONF = """\
ClusterName=sea
NodeName=DEFAULT Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=500000
NodeName=gpu[1-3] NodeAddr=10.66.1.[1-3] CPUs=64
NodeName=cpu[1-2] NodeAddr=cpu-[1-2].sea CPUs=32 Gres=
"""
SAME = "CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=515000"


@pytest.fixture
def conf(tmp_path: Path) -> SlurmConf:
    (tmp_path / "slurm.conf").write_text(CONF)
    return read(Folder(tmp_path))


def answer(conf: SlurmConf, node: str, hardware: str) -> asked.Asked:
    entry: Entry = asked.chosen(conf, "all", ())[node]
    return asked.read(node, f"hardware\tNodeName={node} {hardware}\nsource\t/etc/slurm/slurm.conf (nfs)\nend\n", entry)


def test_one_node_of_each_line_is_asked_and_silent_nodes_are_avoided(conf: SlurmConf) -> None:
    assert [*asked.chosen(conf, "kinds", ["gpu1", "cpu1", "cpu2"])] == ["gpu2", "cpu1"]
    assert [*asked.chosen(conf, "all", [])] == ["gpu1", "gpu2", "gpu3", "cpu1", "cpu2"]
    assert asked.chosen(conf, "none", []) == {}


def test_ssh_goes_to_the_address_of_slurm_conf_and_else_by_the_name(conf: SlurmConf) -> None:
    assert asked.addresses(asked.chosen(conf, "kinds", [])) == {"gpu1": "10.66.1.1", "cpu1": ""}


def test_a_node_with_the_hardware_of_its_line_has_no_difference(conf: SlurmConf) -> None:
    """More memory than in the line, and threads that Slurm does not count, are usual."""
    assert answer(conf, "gpu1", SAME) == asked.Asked("gpu1", "", "/etc/slurm/slurm.conf (nfs)")
    assert answer(conf, "cpu1", SAME).differences == ()


def test_less_hardware_than_in_the_line_is_named(conf: SlurmConf) -> None:
    less = "CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=250000"
    assert answer(conf, "gpu2", less).differences == (
        "ThreadsPerCore=2, but the node has 1",
        "Sockets=2, but the node has 1",
        "CPUs=64, but the node has 16",
        "RealMemory=500000, but the node has 250000",
    )


def test_a_node_that_does_not_answer_is_named_and_the_others_are_read(conf: SlurmConf) -> None:
    class Half:
        def output_on(self, node: str, *argv: str, seconds: float) -> str:
            if node == "gpu1":
                raise GpupoolError("gpu1: no route to host")
            return f"hardware\tNodeName={node} {SAME}\ngres\tName=gpu Type=a100 Count=4\nsource\tconfigless\nend\n"

    found = asked.ask_all(Half(), asked.chosen(conf, "kinds", []))  # type: ignore[arg-type]
    assert found == [
        asked.Asked("gpu1", "no route to host"),
        asked.Asked("cpu1", "", "configless", ("Name=gpu Type=a100 Count=4",)),
    ]


def test_the_script_ends_on_a_machine_without_slurm() -> None:
    done = subprocess.run(
        ["sh", "-c", shell_file("gpupool.adopt", "asked.sh")], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[-1] == "end"
    assert [line for line in lines if line.startswith("source\t")] != []
