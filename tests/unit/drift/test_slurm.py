"""Slurm's settings in three columns: what counts as a difference, and its consequence without an apply."""

from dataclasses import replace

import pytest

from gpupool.programs.drift.slurm import differences, same
from gpupool.programs.drift.state import SlurmState

CONF = """KillWait=30
NodeName=DEFAULT Weight=1
NodeName=n[1-2] CPUs=64 RealMemory=500 Gres=gpu:a40:8 Feature=a40 State=UNKNOWN  # two of them
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=2880 PriorityTier=1 State=UP
"""
PARTITION = {
    "PartitionName": "all", "AllowAccounts": "ALL", "AllowQos": "ALL", "AllowGroups": "ALL", "Default": "YES",
    "QoS": "N/A", "DefaultTime": "NONE", "Hidden": "NO", "MaxNodes": "UNLIMITED", "MaxTime": "2-00:00:00",
    "Nodes": "n1,n2", "PriorityTier": "1", "PriorityJobFactor": "1", "RootOnly": "NO", "OverSubscribe": "NO",
    "State": "UP", "GraceTime": "0",
}  # fmt: skip
NODE = {"Gres": "gpu:a40:8(S:0-1)", "AvailableFeatures": "a40", "Weight": "1", "RealMemory": "500", "State": "IDLE"}
CONFIG = {"KillWait": "30 sec", "SlurmctldDebug": "info", "DebugFlags": "(null)", "HASH_VAL": "Match"}
CLEAN = {"n1": "n1", "n2": "n2"}


def state(
    text: str = CONF,
    config: dict[str, str] | None = None,
    partition: dict[str, str] | None = None,
    node: dict[str, str] | None = None,
    **more: dict[str, str],
) -> SlurmState:
    nodes = {"n1": {**NODE, **(node or {})}, "n2": NODE}
    return SlurmState(text, CONFIG | (config or {}), {"all": PARTITION | (partition or {}), **more}, nodes)


def rows(live: SlurmState, wanted: str = CONF) -> list[tuple[str, ...]]:
    return [
        (difference.node, difference.what, difference.inventory, difference.file, difference.live, difference.then)
        for difference in differences("ctl", wanted, live, CLEAN)
    ]


def test_equal_values_in_another_notation_are_no_difference() -> None:
    assert rows(state()) == []


def test_a_report_of_the_arbiter_is_a_difference_of_the_controller() -> None:
    live = replace(state(), arbiter="jobs held for their allocation: 7 of u-x")
    then = "until its cause is gone: journalctl -u gpupool-arbiter"
    assert rows(live) == [("ctl", "arbiter", "well", "-", "jobs held for their allocation: 7 of u-x", then)]


LOST = "until slurmctld is restarted or reconfigured; apply leaves it"
UNREAD = "until slurmctld is restarted or reconfigured"
LATER = "the next apply puts it back; a restart of slurmctld before that reads it"
BACK = "the next apply puts it back"


@pytest.mark.parametrize(
    ("live", "row"),
    [
        (
            state(partition={"MaxTime": "1-00:00:00"}),
            ("ctl", "partition all MaxTime", "2-00:00:00", "2-00:00:00", "1-00:00:00", LOST),
        ),
        (state(partition={"State": "DOWN"}), ("ctl", "partition all State", "UP", "UP", "DOWN", LOST)),
        (state(partition={"AllowAccounts": "red"}), ("ctl", "partition all AllowAccounts", "ALL", "ALL", "red", LOST)),
        (state(hand=PARTITION), ("ctl", "partition hand", "absent", "absent", "present", LOST)),
        (state(node={"AvailableFeatures": "a40,fast"}), ("n1", "Feature", "a40", "a40", "a40,fast", LOST)),
        (state(node={"Gres": "(null)"}), ("n1", "Gres", "gpu:a40:8", "gpu:a40:8", "(null)", LOST)),
        (state(config={"SlurmctldDebug": "debug"}), ("ctl", "SlurmctldDebug", "info", "info", "debug", LOST)),
        (
            state(CONF.replace("KillWait=30", "KillWait=77")),
            ("ctl", "KillWait", "30", "77", "30 sec", LATER),
        ),
        (
            state(CONF.replace("KillWait=30", "KillWait=77"), {"KillWait": "77 sec"}),
            ("ctl", "KillWait", "30", "77", "77 sec", BACK),
        ),
        (
            state(CONF.replace("2880", "60"), partition={"MaxTime": "01:00:00"}),
            ("ctl", "partition all MaxTime", "2-00:00:00", "01:00:00", "01:00:00", BACK),
        ),
        (
            state(config={"HASH_VAL": "Different Ours=0x1 Slurmctld=0x2"}),
            ("ctl", "slurm.conf", "as the file", "is newer", "runs with an older one", UNREAD),
        ),
        (
            state(node={"State": "IDLE+DRAIN", "Reason": "a fan [root@then]"}),
            (
                *("n1", "state in Slurm", "in service", "-", "IDLE+DRAIN a fan [root@then]"),
                "until a person ends it: scontrol update nodename=n1 state=resume",
            ),
        ),
        (
            state(node={"State": "IDLE+DRAIN", "Reason": "gpupool: health: /home [root@then]"}),
            (
                *(
                    "n1",
                    "state in Slurm",
                    "in service",
                    "-",
                    "IDLE+DRAIN gpupool: health: /home [root@then]",
                ),
                "until the health check passes",
            ),
        ),
        (
            state(node={"State": "DOWN*"}),
            (
                *("n1", "state in Slurm", "in service", "-", "DOWN*"),
                "until its slurmd answers, or an admin finds out why not",
            ),
        ),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_one_difference_is_one_row(live: SlurmState, row: tuple[str, ...]) -> None:
    assert rows(live) == [row]


def test_a_powered_down_node_is_in_service() -> None:
    assert rows(state(node={"State": "IDLE+CLOUD+POWERED_DOWN"})) == []


def test_without_an_answer_of_slurmctld_only_files_are_compared() -> None:
    silent = SlurmState(CONF.replace("2880", "60"), trouble="connect failure")
    assert rows(silent) == [("ctl", "partition all MaxTime", "2-00:00:00", "01:00:00", "-", BACK)]


@pytest.mark.parametrize(
    ("key", "left", "right", "is_same"),
    [
        ("MaxTime", "90", "01:30:00", True),
        ("MaxTime", "90:30", "01:30:30", True),
        ("MaxTime", "1-12", "1-12:00:00", True),
        ("MaxTime", "INFINITE", "UNLIMITED", True),
        ("MaxTime", "60", "60:00:00", False),
        ("AllowAccounts", "a,b", "b,a", True),
        ("Nodes", "n[1-3]", "n[1-2],n3", True),
        ("DefaultTime", "NONE", "", True),
        ("SlurmctldDebug", "3", "info", True),
        ("SlurmctldDebug", "3", "debug", False),
        ("Gres", "gpu:a40:8", "gpu:a40:7(S:0)", False),
    ],
)
def test_values_are_compared_by_their_meaning(key: str, left: str, right: str, is_same: bool) -> None:
    assert same(key, left, right) == is_same
