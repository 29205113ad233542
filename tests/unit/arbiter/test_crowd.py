"""Many owners at once get room within one grace time: Slurm alone would make room for a few at a time."""

import dataclasses

import pytest
from arbitrated import NOW, RULES, capped, job, node, waits
from hypothesis import given
from hypothesis import strategies as st

from gpupool.programs.arbiter import crowd, decide
from gpupool.programs.arbiter.decide import Mark
from gpupool.programs.arbiter.jobs import Job
from gpupool.programs.arbiter.room import Node, Room


def borrower(number: int, **other: object) -> Job:
    return job(str(number), account="overcap", partitions=("overcap",), start=NOW - 1000 + number, **other)


def owner(name: str, **other: object) -> Job:
    return waits(name, **{"reason": "Resources", **other})


# on another node: the jobs that Slurm has already preempted
BEGUN = borrower(90, preempted=NOW - 1, end=NOW + 60, nodes="n9")
BORROWERS = [borrower(number) for number in range(8)]
LEAVING = [borrower(number, preempted=NOW - 1, end=NOW + 60) for number in range(8, 10)]


def signalled(
    queue: list[Job],
    *,
    cap: float = 8,
    nodes: list[Node] | None = None,
    known: object = None,
    begun: bool = True,
    **recent: int,
) -> dict[str, list[str]]:
    """Return the leaving jobs, by the job for which each leaves."""
    nodes = nodes or [node(10, 10)]
    queue = [BEGUN, *queue] if begun else queue
    pool = Room(nodes, filter(decide.leaving, queue), RULES.grace)
    waiting = {job.name for job in queue} if known is None else set()
    names: dict[str, list[str]] = {}
    for decision in crowd.evictions(queue, capped(queue, cap), pool, RULES, NOW, waiting, recent):
        assert decision.act == "signal"
        assert decision.mark
        assert decision.mark.at == NOW + 61
        names.setdefault(decision.mark.waiting, []).append(decision.job.name)
    return names


@pytest.mark.promise("SKY-036")
def test_every_task_of_an_array_gets_room_at_once() -> None:
    queue = [*BORROWERS, *LEAVING, owner("20", tasks=5)]
    assert signalled(queue) == {"20": ["7", "6", "5"]}


@pytest.mark.parametrize("reason", ["Resources", "Priority", "Nodes", "ReqNodeNotAvail"])
def test_every_reason_of_slurm_for_a_lack_of_room_is_known(reason: str) -> None:
    assert signalled([*BORROWERS, *LEAVING, owner("20", tasks=5, reason=reason)]) == {"20": ["7", "6", "5"]}


@pytest.mark.promise("SKY-036")
def test_jobs_that_are_leaving_count_for_one_pending_job_only() -> None:
    queue = [*BORROWERS, *LEAVING, owner("20"), owner("21"), owner("22"), owner("23")]
    assert signalled(queue) == {"22": ["7"], "23": ["6"]}


def test_no_job_leaves_if_free_and_leaving_gpus_are_enough() -> None:
    assert signalled([*BORROWERS, *LEAVING, owner("20", gpus=2)]) == {}
    assert signalled([*BORROWERS, owner("20", gpus=2)], nodes=[node(10, 8)]) == {}


def test_no_more_leave_than_the_labs_cap_allows_to_start() -> None:
    assert signalled([*BORROWERS, owner("20", tasks=20)], cap=3) == {"20": ["7", "6", "5"]}
    assert signalled([*BORROWERS, owner("20", gpus=2), owner("21", gpus=2)], cap=3) == {"20": ["7", "6"]}


def test_overcap_jobs_are_preempted_before_user_overcap_jobs() -> None:
    within = [job(f"3{number}", account="b", start=NOW - 5) for number in range(2)]
    assert signalled([*BORROWERS[:1], *within, owner("20")], nodes=[node(3, 3)]) == {"20": ["0"]}
    assert signalled([*BORROWERS[:1], *within, owner("20", gpus=2)], nodes=[node(3, 3)]) == {"20": ["0", "30"]}


@pytest.mark.promise("SKY-127")
def test_a_user_overcap_job_gets_room_from_overcap_jobs_only() -> None:
    within = [job(f"3{number}", account="b", start=NOW - 5) for number in range(2)]
    borrows = owner("20", partitions=("user-overcap",), gpus=2)
    assert signalled([*BORROWERS[:3], *within, borrows], nodes=[node(5, 5)]) == {"20": ["2", "1"]}
    assert signalled([*within, borrows], nodes=[node(2, 2)]) == {}


def test_the_gpus_of_a_pending_job_are_freed_on_one_node() -> None:
    here = [borrower(number) for number in range(3)]
    elsewhere = [borrower(number, nodes="n2") for number in range(3, 5)]
    nodes = [node(3, 3), node(2, 2, "n2")]
    assert signalled([*here, *elsewhere, owner("20", gpus=3)], nodes=nodes) == {"20": ["2", "1", "0"]}
    assert signalled([*here, *elsewhere, owner("20", gpus=4)], nodes=nodes) == {}


def test_no_job_leaves_in_excess_of_the_need() -> None:
    queue = [borrower(0, gpus=4), borrower(1, gpus=1), owner("20", gpus=4)]
    assert signalled(queue, nodes=[node(5, 5)]) == {"20": ["0"]}


@pytest.mark.parametrize(
    "why",
    [
        {"reason": "AssocGrpGRES"},
        {"reason": "QOSMaxGRESPerUser"},
        {"reason": "JobHeldUser"},
        {"peculiar": True},
        {"contiguous": True},
        {"required": frozenset({"n1"})},
        {"excluded": frozenset({"n2"})},
        {"shared": "none"},
        {"priority": 0},
        {"partitions": ("overcap",)},
        {"account": "unknown"},
        {"node_count": 2},
        {"features": "h100"},
        {"states": frozenset({"PENDING", "REQUEUED"})},
    ],
    ids=lambda why: next(iter(why)),
)
def test_no_job_leaves_for_a_pending_job_that_cannot_start(why: dict[str, object]) -> None:
    assert signalled([*BORROWERS, owner("20")]) == {"20": ["7"]}
    assert signalled([*BORROWERS, dataclasses.replace(owner("20"), **why)]) == {}  # type: ignore[arg-type]


def test_slurm_has_its_turn_first() -> None:
    assert signalled([*BORROWERS, owner("20")], known="nobody") == {}


def test_no_job_leaves_before_slurm_has_begun_to_preempt() -> None:
    queue = [*BORROWERS, owner("20")]
    assert signalled(queue) == {"20": ["7"]}
    assert signalled(queue, begun=False) == {}
    # although the arbiter knows that the job waits
    assert crowd.waiting(queue, RULES) == [queue[-1]]


def test_room_that_was_not_used_is_not_made_again_at_once() -> None:
    queue = [*BORROWERS, owner("20_3")]
    assert signalled(queue, **{"20": NOW + 5}) == {}
    assert signalled(queue, **{"20": NOW}) == {"20": ["7"]}


def test_no_job_is_signalled_twice() -> None:
    marked = [dataclasses.replace(borrower, comment=str(Mark(NOW + 50, 0, "20"))) for borrower in BORROWERS]
    assert signalled([*marked, owner("20", tasks=9)]) == {}
    assert not crowd.begun([BEGUN, *marked, owner("20")], RULES)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["n1", "n2"]), st.booleans()), max_size=12),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=6),
    st.integers(0, 12),
)
def test_owners_never_leave_and_only_as_many_jobs_leave_as_can_start(
    held: list[tuple[int, str, bool]], asked: list[tuple[int, int]], cap: int
) -> None:
    """Running jobs: GPUs, node, whether an owner has them. Pending jobs: GPUs and tasks."""
    queue = [
        job(str(number), gpus=gpus, nodes=where, account="b", partitions=("short",))
        if owned
        else borrower(number, gpus=gpus, nodes=where)
        for number, (gpus, where, owned) in enumerate(held)
    ]
    waiting = [owner(str(50 + number), gpus=gpus, tasks=tasks) for number, (gpus, tasks) in enumerate(asked)]
    used = {name: sum(gpus for gpus, where, _ in held if where == name) for name in ("n1", "n2")}
    nodes = [node(used[name], used[name], name) for name in used]
    gone = [name for names in signalled([*queue, *waiting], cap=cap, nodes=nodes).values() for name in names]
    assert len(set(gone)) == len(gone)
    assert not [name for name in gone if held[int(name)][2]]
    freed = sum(held[int(name)][0] for name in gone)
    wanted = sum(gpus * tasks for gpus, tasks in asked)
    # a victim may hold at most two GPUs more than the job needs for which it leaves
    assert freed <= min(wanted, cap) + 2 * len(gone)
