"""Tasks of an owners' array wait side by side: Slurm would make room for one at a time."""

import dataclasses

import pytest
from arbitrated import RULES, capped, job, node, waits
from hypothesis import given
from hypothesis import strategies as st

from gpupool.arbiter import act, arrays, jobs
from gpupool.arbiter.jobs import Job
from gpupool.arbiter.room import Room

BORROWERS = [job(str(number), account="overcap", partitions=("overcap",)) for number in range(8)]


def array(name: str = "20", tasks: int = 4, most: int = 0, **other: object) -> Job:
    waiting = waits(name, reason="Resources", waiting=tuple(range(1, tasks + 1)), tasks=most or tasks)
    return dataclasses.replace(waiting, **other)  # type: ignore[arg-type]


def apart(queue: list[Job], cap: float = 8, gpus: float = 8) -> dict[str, tuple[int, ...]]:
    pool = Room([node(gpus, gpus)], queue, RULES.grace)
    return {it.job.name: it.tasks for it in arrays.splits(queue, capped(queue, cap), pool, RULES)}


@pytest.mark.promise("SKY-036")
def test_all_tasks_but_the_first_wait_by_themselves() -> None:
    assert apart([*BORROWERS, array()]) == {"20": (2, 3, 4)}


def test_no_more_wait_by_themselves_than_the_cap_the_pool_or_the_array_itself_allows() -> None:
    assert apart([*BORROWERS, array(tasks=20)], cap=3) == {"20": (2, 3)}
    assert apart([*BORROWERS, array(tasks=20)], cap=30) == {"20": (2, 3, 4, 5, 6, 7, 8)}
    assert apart([*BORROWERS, array(tasks=20, most=2)]) == {"20": (2,)}
    assert apart([*BORROWERS, array(tasks=20)], cap=1) == {}


def test_who_waits_by_himself_already_counts_first() -> None:
    assert apart([*BORROWERS, waits("20_1", reason="Priority"), array(tasks=9)], cap=3) == {"20": (2,)}
    alone = [waits(f"20_{number}", reason="Resources") for number in (1, 2, 3)]
    assert apart([*BORROWERS, *alone, array(tasks=9)], cap=3) == {}


def test_the_first_in_the_queue_is_served_first() -> None:
    queue = [*BORROWERS, array("20", priority=1), array("21", priority=9)]
    assert apart(queue, cap=5) == {"21": (2, 3, 4)}


@pytest.mark.parametrize(
    "why",
    [
        {"reason": "AssocGrpGRES"},
        {"reason": "JobHeldUser"},
        {"peculiar": True},
        {"priority": 0},
        {"partitions": ("overcap",)},
        {"waiting": (3,), "tasks": 1},
        {"account": "unknown"},
        {"states": frozenset({"RUNNING"})},
    ],
    ids=str,
)
def test_nothing_is_done_for_arrays_that_others_do_not_stand_in_the_way_of(why: dict[str, object]) -> None:
    assert apart([*BORROWERS, dataclasses.replace(array(), **why)]) == {}  # type: ignore[arg-type]


def test_without_borrowers_arrays_are_left_as_they_are() -> None:
    owners = [dataclasses.replace(it, partitions=("short",)) for it in BORROWERS]
    gone = [dataclasses.replace(it, preempted=1) for it in BORROWERS]
    for queue in (owners, gone):
        assert arrays.waiting([*queue, array()], RULES) == []


def test_what_is_changed_is_what_was_there() -> None:
    split = arrays.Split(array(comment="of an admin"), (2, 4))
    assert act.apart(split) == ["scontrol", "update", "JobId=20_[2,4]", "AdminComment=of an admin"]


@given(st.lists(st.integers(0, 50), unique=True, min_size=1, max_size=20).map(sorted), st.integers(0, 9))
def test_tasks_are_read_as_slurm_writes_them(tasks: list[int], most: int) -> None:
    text = ",".join(map(str, tasks)) + (f"%{most}" if most else "")
    assert jobs._tasks(text) == (tuple(tasks), min(len(tasks), most or 99))


def test_ranges_steps_and_texts_that_slurm_cut_off_are_read_as_far_as_they_go() -> None:
    assert jobs._tasks("1-3,7%2") == ((1, 2, 3, 7), 2)
    assert jobs._tasks("0-8:4") == ((0, 4, 8), 3)
    assert jobs._tasks("1-2,5,...")[0] == (1, 2, 5)
    assert jobs._tasks("") == ((), 1)
