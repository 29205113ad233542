"""Nodes are parsed from slurmctld of each release, and a drain by others is not taken for ours."""

from pathlib import Path

import pytest

from gpupool.slurm.nodes import NodeState, read

RECORDED = Path(__file__).parents[1] / "arbiter"
HOSTILE = Path(__file__).parent / "recorded"

SHOWN = """NodeName=gpu-1 Arch=x86_64 CoresPerSocket=16
   CPUAlloc=0 CPUEfctv=16 CPUTot=16 CPULoad=24.72
   Gres=gpu:a40:2(S:0)
   RealMemory=63569 AllocMem=0 FreeMem=15531 Sockets=1 Boards=1
   State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   BootTime=2026-11-23T16:07:08 SlurmdStartTime=2026-11-23T16:07:09
{reason}
NodeName=gpu-2 CoresPerSocket=16
   Gres=(null)
   State=DOWN* ThreadsPerCore=1
   BootTime=None SlurmdStartTime=None

"""


def shown(state: str = "IDLE", why: str = "") -> NodeState:
    return read(SHOWN.format(state=state, reason=f"   Reason={why}\n" if why else ""))["gpu-1"]


def test_a_node_is_read() -> None:
    assert shown() == NodeState(
        frozenset({"IDLE"}), "", "", "2026-11-23T16:07:08", "2026-11-23T16:07:09", 16, 63569, "gpu:a40:2(S:0)"
    )
    assert shown().in_service
    other = read(SHOWN.format(state="IDLE", reason=""))["gpu-2"]
    assert not other.answers
    assert other.gres == ""


@pytest.mark.parametrize(
    ("state", "why", "ours"),
    [
        ("IDLE+DRAIN", "gpupool: maintain: driver [root@2026-11-23T16:09:35]", True),
        ("MIXED*+DRAIN", "gpupool: maintain: driver [root@2026-11-23T16:09:35]", True),
        ("IDLE", "gpupool: maintain: driver [root@2026-11-23T16:09:35]", False),
        ("IDLE+DRAIN", "disk is replaced [root@2026-11-23T16:09:35]", False),
        ("IDLE+DRAIN", "gpupool: health: / has 1 MiB free [root@2026-11-23T16:09:35]", False),
        ("IDLE+DRAIN", "gpupool: maintain: driver [operator@2026-11-23T16:09:35]", False),
        ("IDLE+DRAIN", "gpupool: maintain: x [root@2026-11-23T16:09:35] [operator@2026-11-23T16:10:00]", False),
        ("IDLE+DRAIN", "", False),
    ],
)
def test_only_roots_drain_with_our_reason_is_ours(state: str, why: str, ours: bool) -> None:
    assert shown(state, why).is_ours("maintain") is ours


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DOWN", "IDLE*", "IDLE+MAINTENANCE+RESERVED", "MIXED+REBOOT_ISSUED"])
def test_a_node_in_such_a_state_is_not_in_service(state: str) -> None:
    assert not shown(state).in_service


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_nodes_of_every_release_are_read(version: str) -> None:
    nodes = read((RECORDED / version / "nodes.txt").read_bytes())
    node = nodes["a40-01"]
    assert node.version.startswith(version)
    assert (node.flags, node.cpus, node.memory) == ({"IDLE"}, 128, 508559)
    assert node.gres.startswith("gpu:a40:8")
    assert {"debug", "overcap"} <= set(node.partitions)
    assert node.features == ("a40",)
    assert (node.has["gres/gpu:a40"], node.has["mem"], node.used) == (8, 508559, {})
    assert sum(node.used.get("gres/gpu", 0) for node in nodes.values()) > 0
    assert all(node.is_open and node.in_service and not node.is_bad for node in nodes.values())


@pytest.mark.parametrize(
    ("state", "flags"),
    [
        ("MIXED*+DRAIN", {"MIXED", "NOT_RESPONDING", "DRAIN"}),
        ("IDLE+CLOUD+POWERED_DOWN", {"IDLE", "CLOUD", "POWERED_DOWN"}),
        ("IDLE~", {"IDLE", "POWERED_DOWN"}),
        ("DOWN$", {"DOWN", "MAINTENANCE"}),
        ("DRAINED", {"DRAIN"}),
        ("IDLE+MAINT", {"IDLE", "MAINTENANCE"}),
        ("INVAL", {"INVALID_REG"}),
    ],
)
def test_a_flag_has_one_name_for_all_releases(state: str, flags: set[str]) -> None:
    assert shown(state).flags == flags


def test_a_node_without_a_state_is_unknown_and_not_in_service() -> None:
    node = read("NodeName=a Arch=x86_64\n")["a"]
    assert node.flags == {"UNKNOWN"}
    assert not node.in_service
    assert node.is_bad


@pytest.mark.parametrize("state", ["IDLE+CLOUD+POWERED_DOWN", "DOWN+CLOUD+POWERING_DOWN"])
def test_a_powered_down_node_is_neither_faulty_nor_available(state: str) -> None:
    node = shown(state)
    assert (node.powered_off, node.is_bad, node.is_open) == (True, False, False)


def test_of_two_nodes_with_one_name_the_first_counts() -> None:
    spoofed = SHOWN.format(state="DOWN", reason="") + "NodeName=gpu-1 Arch=x86_64\n   State=IDLE\n\n"
    assert read(spoofed)["gpu-1"].flags == {"DOWN"}


@pytest.mark.parametrize("form", ["many", "one"])
@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_free_text_of_a_real_slurmctld_imitates_no_key(version: str, form: str) -> None:
    """gpu-1 has a reason and a comment with keys, newlines and bytes that are not UTF-8."""
    nodes = read((HOSTILE / f"{version}.node.{form}.txt").read_bytes())
    assert nodes.keys() == {"gpu-1", "gpu-2"}
    first, second = nodes["gpu-1"], nodes["gpu-2"]
    assert (first.flags, second.flags) == ({"IDLE", "DRAIN"}, {"MIXED"})
    assert first.reason.startswith("a fan State=IDLE \ufffd\ufffd")
    assert not first.is_ours("maintain")
    assert (second.reason, second.extra, second.used["mem"]) == ("", "other-stamp", 1024)
    # with a newline or a later key in free text, the one-line form has no complete reason and no other key after it
    assert (first.extra == "gpupool-stamp") == (first.by == "root") == (form == "many")
