"""Reservations of the inventory on a real slurmctld of each version: created, used, kept, changed and removed."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from inventories import SMALL, changed
from pace import until
from rehearsing import RELEASES

from gpupool.compile.slurm.reservations import reservations
from gpupool.facts.reservations import ReservationsState, ask_text, read
from gpupool.operations.reservations import Difference, difference
from gpupool.rehearsal.twin import HOLD, Ask, Twin
from gpupool.wanted import Reservation

SAID = (
    (
        "{name: ann, uid: 20001, account: red}",
        "{name: ann, uid: 20001, account: red}\n  - {name: bea, uid: 20002, account: blue}",
    ),
    (
        "scheduler: {",
        "reservations:\n"
        "  - {name: course, accounts: [red], nodes: gpu-1, start: 2026-01-05 10:00, duration: 2h, every: week,"
        " free_after: 30m, flex: true}\n"
        "  - {name: power-works, maintenance: true, nodes: '@compute', start: 2096-12-24 08:00, duration: 1d,"
        " ignore_jobs: true}\n"
        "  - {name: past, accounts: [red], nodes: gpu-2, start: 2020-01-05 10:00, duration: 2h}\n"
        "scheduler: {",
    ),
)


@pytest.fixture(scope="module", params=RELEASES)
def twin(apart: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("reserved"), *SAID), version=request.param) as twin:
        yield twin


@pytest.fixture
def wanted(twin: Twin) -> Iterator[list[Reservation]]:
    """The reservations of the inventory; none is left afterwards."""
    yield reservations(twin.cluster)
    end_jobs(twin)
    twin.run("scontrol -o show reservation | sed -n 's/^ReservationName=\\([^ ]*\\).*/\\1/p' >/tmp/names")
    twin.run("xargs -r -n 1 -I{} scontrol delete ReservationName={} </tmp/names; rm -f /var/lib/gpupool/reservations")
    twin.clear()


def end_jobs(twin: Twin) -> None:
    # not `clear`: nodes of a reservation are not idle
    twin.run("squeue -a -h -o %A | xargs -r scancel")
    until(lambda: not twin.jobs(), "no job is left", lambda: str(twin.jobs()))


def state(twin: Twin) -> ReservationsState:
    seen = read(twin.run(ask_text()).out)
    assert seen
    assert seen.trouble is None
    return seen


def reconcile(twin: Twin, wanted: list[Reservation]) -> Difference:
    todo = difference(state(twin), wanted)
    if todo.lines:
        twin.do(todo.script(), "reservations")
    return todo


def now_from(twin: Twin, hours: int) -> str:
    moment = state(twin).now
    assert moment
    return (moment + timedelta(hours=hours)).replace(microsecond=0).isoformat()


def test_a_second_run_has_nothing_to_do(twin: Twin, wanted: list[Reservation]) -> None:
    first = reconcile(twin, wanted)
    assert set(first.changes) == {"reservation course", "reservation power-works"}
    assert first.over == ["past"]
    second = reconcile(twin, wanted)
    assert (second.changes, second.strange) == ({}, []), twin.run("scontrol -o show reservation").out
    live = state(twin).live["course"]
    assert (live.every, live.start.strftime("%A %H:%M"), live.free_after) == ("WEEKLY", "Monday 10:00", 1800)
    # as after its first occurrence
    later = (live.start + timedelta(days=7)).isoformat()
    twin.do(f"scontrol update ReservationName=course StartTime={later} Duration=120", "a week later")
    assert state(twin).live["course"].start == datetime.fromisoformat(later)
    assert reconcile(twin, wanted).changes == {}


def test_only_jobs_of_its_accounts_run_in_it(twin: Twin, wanted: list[Reservation]) -> None:
    course = replace(wanted[0], start=now_from(twin, -1), every="", flags=(), free_after=0)
    assert reconcile(twin, [course]).changes
    assert reconcile(twin, [course]).changes == {}, "it was made when it had begun"
    until(lambda: "State=ACTIVE" in twin.run("scontrol -o show reservation course").out, "it begins")
    ask = ("--mem=10M", "-p", "all", "--reservation=course")
    mine, theirs = twin.submit([Ask("ann", ask, HOLD), Ask("bea", ask, HOLD)])
    assert isinstance(mine, str), mine
    assert not isinstance(theirs, str), theirs
    until(lambda: [job for job in twin.jobs() if job.array == mine and job.nodes == ("gpu-1",)], "ann's runs in it")
    [outside] = twin.submit([Ask("bea", ("--mem=10M", "-p", "all", "-N2"), HOLD)])
    assert isinstance(outside, str), outside
    until(lambda: [job for job in twin.jobs() if job.array == outside and job.reason], "bea's waits for the nodes")
    assert not [job for job in twin.jobs() if job.array == outside and job.state == "RUNNING"]
    # a job holds it: the message names the job, and the reservation is removed after the job has ended
    gone = twin.run(difference(state(twin), []).script())
    assert gone.code
    assert "reservation course: slurmctld refuses it:" in gone.err
    assert "squeue -R course" in gone.err
    end_jobs(twin)
    assert set(reconcile(twin, []).changes) == {"reservation course"}
    assert state(twin).live == {}


def test_a_reservation_of_an_admin_is_kept(twin: Twin, wanted: list[Reservation]) -> None:
    mine = "StartTime=2095-03-05T10:00:00 Duration=60 Nodes=gpu-2 Users=root"
    twin.do(f"scontrol create reservation ReservationName=mine {mine} Flags=MAINT", "an admin's reservation")
    twin.do(f"scontrol create reservation ReservationName=power-works {mine} Flags=MAINT", "of the same name")
    before = state(twin).live
    todo = reconcile(twin, wanted)
    assert todo.strange == ["power-works"]
    reconcile(twin, [])
    assert state(twin).live == before, "the course has come and gone"


def test_an_identical_reservation_of_an_admin_becomes_gpupools(twin: Twin, wanted: list[Reservation]) -> None:
    reconcile(twin, wanted)
    twin.do("rm /var/lib/gpupool/reservations", "a controller that was installed anew")
    assert not reconcile(twin, wanted).strange
    assert reconcile(twin, wanted).changes == {}


def test_changed_reservations_are_changed(twin: Twin, wanted: list[Reservation]) -> None:
    reconcile(twin, wanted)
    course, works, *rest = wanted
    for new in (
        replace(course, nodes="gpu-2"),
        replace(course, nodes="gpu-[1-2]", start="2026-01-06T11:00:00", duration=3600),
        replace(course, accounts=("blue",)),
        replace(course, accounts=("blue",), users=("bea",)),
        replace(course, every="DAILY", flags=()),
        replace(course, every="", start=now_from(twin, 30), flags=(), free_after=0),
        replace(course, nodes="", node_count=1, partition="all"),
    ):
        todo = reconcile(twin, [new, works, *rest])
        assert set(todo.changes) == {"reservation course"}, new
        assert reconcile(twin, [new, works, *rest]).changes == {}, new


def test_gpus_are_reserved_if_the_release_supports_it(twin: Twin, wanted: list[Reservation]) -> None:
    if twin.version == "22.05":
        pytest.skip("check refuses it there")
    for gpus in ({"": 4}, {"a40": 6}):
        new = replace(wanted[0], nodes="", gpus=gpus, partition="all")
        reconcile(twin, [new])
        assert state(twin).live["course"].gpus[""] == sum(gpus.values())
        assert reconcile(twin, [new]).changes == {}


def test_nodes_with_jobs_are_refused_with_the_option_to_set(twin: Twin, wanted: list[Reservation]) -> None:
    [job] = twin.submit([Ask("bea", ("--mem=10M", "-p", "all", "-N2", "--time=1-0"), HOLD)])
    until(lambda: [task for task in twin.jobs() if task.array == job and task.state == "RUNNING"], "it runs")
    soon = replace(wanted[0], start=now_from(twin, 1), every="", flags=())
    done = twin.run(difference(state(twin), [soon, *wanted[1:]]).script())
    assert done.code
    assert "reservation course: slurmctld refuses it:" in done.err
    assert "ignore_jobs: true" in done.err
    assert set(state(twin).live) == {"power-works"}, "the others are made"
    reconcile(twin, [replace(soon, flags=("IGNORE_JOBS",))])
    assert [task.state for task in twin.jobs() if task.array == job] == ["RUNNING"]
