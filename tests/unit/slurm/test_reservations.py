"""Reservations and partitions in scontrol's output."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpupool.slurm import partitions, reservations

HOSTILE = Path(__file__).parent / "recorded"

ONE = (
    "ReservationName=course StartTime=2027-01-04T10:00:00 EndTime=2027-01-04T12:00:00 Duration=02:00:00 "
    "Nodes=gpu-[1-2] NodeCnt=2 CoreCnt=40 Features=(null) PartitionName=all "
    "Flags=WEEKLY,PURGE_COMP=00:30:00,SPEC_NODES   NodeName=gpu-1 CoreIDs=24-63 "
    "TRES=cpu=40,gres/gpu:a40=4,gres/gpu=4 Users=(null) Groups=(null) Accounts=red,blue "
    "Licenses=(null) State=INACTIVE BurstBuffer=(null) MaxStartDelay=(null) Comment=x Nodes=gpu-9 Duration=1\n"
)
MANY = """ReservationName=course StartTime=2027-01-04T10:00:00 EndTime=2027-01-04T12:00:00 Duration=02:00:00
   Nodes=gpu-[1-2] NodeCnt=2 CoreCnt=40 Features=(null) PartitionName=all Flags=WEEKLY,PURGE_COMP=00:30:00,SPEC_NODES
     NodeName=gpu-1 CoreIDs=24-63
   TRES=cpu=40,gres/gpu:a40=4,gres/gpu=4
   Users=(null) Groups=(null) Accounts=red,blue Licenses=(null) State=INACTIVE BurstBuffer=(null)
   MaxStartDelay=(null)
   Comment=x Nodes=gpu-9 Duration=1

"""


@pytest.mark.parametrize("answer", [ONE, MANY], ids=["one line", "many lines"])
def test_a_reservation_is_read(answer: str) -> None:
    assert reservations.read(answer, UTC)["course"] == reservations.Reservation(
        name="course",
        start=datetime(2027, 1, 4, 10, tzinfo=UTC),
        end=datetime(2027, 1, 4, 12, tzinfo=UTC),
        duration=7200,
        nodes=("gpu-1", "gpu-2"),
        partition="all",
        accounts=("red", "blue"),
        users=(),
        gpus={"a40": 4, "": 4},
        flags=frozenset({"WEEKLY", "SPEC_NODES"}),
        free_after=1800,
    )


@pytest.mark.parametrize("form", ["many", "one"])
@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_the_comment_of_a_real_reservation_imitates_no_key(version: str, form: str) -> None:
    """It holds nodes, and users on a separate line; 22.05 has no comments of reservations."""
    found = reservations.read((HOSTILE / f"{version}.reservation.{form}.txt").read_bytes())
    assert [(entry.name, entry.nodes, entry.users, entry.duration) for entry in found.values()] == [
        ("course", ("gpu-2",), ("root",), 7200)
    ]


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_partitions_of_a_real_slurmctld_are_the_same_in_both_forms(version: str) -> None:
    many, one = ((HOSTILE / f"{version}.partition.{form}.txt").read_bytes() for form in ("many", "one"))
    assert partitions.read(many) == partitions.read(one)
    assert {"all", "red"} <= partitions.read(many).keys()
    assert partitions.read(many)["all"]["State"] == "UP"


def test_without_reservations_the_result_is_empty() -> None:
    assert reservations.read("No reservations in the system\n") == {}


def test_partitions_are_read_with_all_their_keys() -> None:
    answer = "PartitionName=all\n   AllowGroups=ALL Nodes=a[1-2]\n   State=UP\n\nPartitionName=b\n   State=DOWN\n\n"
    assert partitions.read(answer) == {
        "all": {"PartitionName": "all", "AllowGroups": "ALL", "Nodes": "a[1-2]", "State": "UP"},
        "b": {"PartitionName": "b", "State": "DOWN"},
    }
