"""What slurmctld says of nodes is read as it says it, and no reason of others is taken for ours."""

import pytest

from gpupool.upkeep.drain import reason
from gpupool.upkeep.state import NodeState, read

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
def test_only_what_root_has_drained_with_our_reason_is_ours(state: str, why: str, ours: bool) -> None:
    assert shown(state, why).is_ours("maintain") is ours


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "DOWN", "IDLE*", "IDLE+MAINTENANCE+RESERVED", "MIXED+REBOOT_ISSUED"])
def test_such_a_node_is_not_in_service(state: str) -> None:
    assert not shown(state).in_service


def test_a_reason_is_one_short_line_that_no_text_can_break_out_of() -> None:
    text = reason("maintain", 'it\'s\n[root@x] "a|b" \x1b[31m' + "x" * 900)
    assert text.startswith("gpupool: maintain: it s  root@x ")
    assert len(text) == 300
    assert not set(text) & set("[]\"'|\n\x1b")
