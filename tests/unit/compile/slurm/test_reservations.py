"""The inventory's reservations in the form of slurmctld; a testbed only reserves the nodes it has."""

from pathlib import Path

import pytest
from inventories import SMALL, changed

from gpupool.compile.slurm.reservations import reservations
from gpupool.testbed.overlay import stand_in
from gpupool.wanted import Reservation

SAID = """reservations:
  - {name: course, accounts: [red, red], gpus: {a40: 4}, partition: all, every: week, start: 2030-01-07 10:00,
     duration: 2h}
  - {name: "works:heat", maintenance: true, nodes: "@compute", start: 2030-12-24T08:00, duration: 1d, ignore_jobs: true}
  - {name: one, users: [ann], nodes: gpu-2, start: 2030-02-01 14:00, duration: 1h, flex: true, free_after: 20m}
scheduler: {"""


def test_each_key_has_its_form_in_scontrol(tmp_path: Path) -> None:
    course, works, one = reservations(changed(SMALL, tmp_path, ("scheduler: {", SAID)))
    assert course == Reservation(
        "course", "2030-01-07T10:00:00", 7200, "WEEKLY", gpus={"a40": 4}, partition="all", accounts=("red",)
    )
    assert (works.nodes, works.users, works.flags) == ("gpu-[1-2]", ("root",), ("MAINT", "IGNORE_JOBS"))
    assert (one.nodes, one.users, one.flags, one.free_after) == ("gpu-2", ("ann",), ("FLEX",), 1200)


@pytest.mark.parametrize(
    ("every", "flag"), [("day", "DAILY"), ("weekday", "WEEKDAY"), ("weekend", "WEEKEND"), ("week", "WEEKLY")]
)
def test_each_recurrence_has_its_flag_in_scontrol(every: str, flag: str, tmp_path: Path) -> None:
    day = "2030-01-05" if every == "weekend" else "2030-01-07"
    keys = SAID.replace("week, start: 2030-01-07", f"{every}, start: {day}")
    course, works, _ = reservations(changed(SMALL, tmp_path, ("scheduler: {", keys)))
    assert (course.every, works.every) == (flag, "")


def test_nodes_of_a_reservation_have_slurms_names(tmp_path: Path) -> None:
    fqdn = ("domain: small.example", "domain: small.example, node_names: fqdn")
    _, works, _ = reservations(changed(SMALL, tmp_path, ("scheduler: {", SAID), fqdn))
    assert works.nodes == "gpu-1.small.example,gpu-2.small.example"


def test_a_testbed_reserves_only_nodes_that_it_has(tmp_path: Path) -> None:
    cluster = stand_in(changed(SMALL, tmp_path, ("scheduler: {", SAID)), cgroup="v2")
    assert [(reservation.name, reservation.nodes) for reservation in reservations(cluster)] == [("works:heat", "gpu-1")]
