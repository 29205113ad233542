"""Rules of the arbiter, tested on any queue."""

import dataclasses
from collections.abc import Collection
from typing import Literal

import pytest
from arbitrated import NOW, RULES, capped, evicted, job, node, waits
from hypothesis import given
from hypothesis import strategies as st

from gpupool.programs.arbiter import act, crowd, decide
from gpupool.programs.arbiter.decide import Mark
from gpupool.programs.arbiter.jobs import Job
from gpupool.programs.arbiter.limits import Limit, Limits
from gpupool.programs.arbiter.room import Room

FULL = [job("1", start=NOW - 300), job("2", start=NOW - 200, gpus=2), job("3", start=NOW - 100)]


@pytest.mark.promise("SKY-126", "SKY-129")
def test_a_labmate_gets_the_gpus_of_the_youngest_job() -> None:
    queue = [*FULL, waits("9")]
    assert [decision.job.name for decision in evicted(queue, capped(queue, 4), [node(8, 4)])] == ["3"]


@pytest.mark.parametrize("kind", ["GRES", "CpuLimit", "MemLimit", "NodeLimit", "Billing", "JobsLimit"])
def test_every_limit_of_the_lab_is_a_reason_to_preempt(kind: str) -> None:
    queue = [*FULL, waits("9", reason=f"AssocGrp{kind}")]
    assert [decision.job.name for decision in evicted(queue, capped(queue, 4), [node(8, 4)])] == ["3"]


def test_only_one_job_leaves_if_it_frees_enough_alone() -> None:
    queue = [*FULL, waits("9", gpus=2)]
    assert [decision.job.name for decision in evicted(queue, capped(queue, 4), [node(8, 4)])] == ["2"]


@pytest.mark.parametrize(
    "why",
    [
        {"reason": "QOSMaxGRESPerUser"},
        {"reason": "AssocMaxGRESPerJob"},
        {"reason": "AssocGrpBillingMinutes"},
        {"reason": "Dependency"},
        {"reason": "JobHeldAdmin", "priority": 0},
        {"priority": 0},
        {"peculiar": True},
        {"reason": "Resources"},
        {"reason": "SomethingNew"},
        {"account": "b"},
        {"partitions": ("user-overcap",)},
        {"partitions": ("user-overcap", "overcap")},
        {"gpus": 5},
        {"states": frozenset({"PENDING", "REQUEUED"})},
        {"features": "[rack1*2&rack2]"},
    ],
    ids=",".join,
)
def test_no_job_leaves_for_a_job_that_waits_for_another_reason(why: dict[str, object]) -> None:
    queue = [*FULL, waits("9", **why)]
    assert evicted(queue, capped(queue, 4), [node(8, 4)]) == []


@pytest.mark.parametrize("features", ["[rack1*2&rack2]", "a40&quiet|big", "(a40)", "a40*1", "!a40", "a40&", "\n"])
def test_an_unknown_constraint_delays_no_other_job(features: str) -> None:
    queue = [*FULL, waits("8", features=features, priority=9000), waits("9", user="u3")]
    assert [decision.mark and decision.mark.waiting for decision in evicted(queue, capped(queue, 4), [node(8, 4)])] == [
        "9"
    ]


@pytest.mark.parametrize(
    ("constraint", "allowed"),
    [
        ("", True),
        ("a40", True),
        ("a40&quiet", True),
        ("a40,quiet", True),
        ("big|a40", True),
        ("a40&big", False),
        ("big", False),
    ],
)
def test_a_constraint_needs_all_or_one_of_its_features(constraint: str, allowed: bool) -> None:
    queue = [*FULL, waits("9", features=constraint)]
    quiet = dataclasses.replace(node(8, 4), features=("a40", "quiet"))
    assert bool(evicted(queue, capped(queue, 4), [quiet])) is allowed


def test_a_limit_of_the_user_is_no_reason_to_evict() -> None:
    queue = [*FULL, waits("9")]
    lab = capped(queue, 4)
    full = Limit({"gres/gpu": 2}, {"gres/gpu": 2})
    for known in (
        dataclasses.replace(lab, users={("a", "u2"): full}),
        dataclasses.replace(lab, qos={"normal": full}),
        dataclasses.replace(lab, qos_users={("normal", "u2"): full}),
    ):
        assert evicted(queue, known, [node(8, 4)]) == []
    spill = [*FULL, waits("9", partitions=("debug", "user-overcap"))]
    known = dataclasses.replace(lab, qos_users={("partition-debug", "u2"): full})
    assert evicted(spill, known, [dataclasses.replace(node(8, 4), partitions=("debug",))]) == []


def test_a_limit_of_an_account_above_is_no_reason_to_evict() -> None:
    queue = [*FULL, waits("9")]
    lab = capped(queue, 4)
    above = {"a": "dept", "dept": "root"}
    full = dataclasses.replace(lab, parents=above, accounts={**lab.accounts, "dept": Limit({"cpu": 9}, {"cpu": 9})})
    assert evicted(queue, full, [node(8, 4)]) == []


@pytest.mark.parametrize("above", [{"a": "dept", "dept": "a"}, {"a": "dept", "dept": "top", "top": "dept"}])
def test_accounts_above_each_other_in_a_circle_are_no_reason_to_evict(above: dict[str, str]) -> None:
    """The accounts are read while an admin moves them."""
    queue = [*FULL, waits("9")]
    lab, free = capped(queue, 4), Limit({"gres/gpu": 99}, {"gres/gpu": 4})
    known = dataclasses.replace(lab, parents=above, accounts={"dept": free, "top": free, **lab.accounts})
    assert evicted(queue, known, [node(8, 4)]) == []


@pytest.mark.parametrize("first", [{"priority": 5001}, {}])
def test_the_job_that_slurm_starts_first_is_served_first(first: dict[str, object]) -> None:
    """The job with the higher priority; of two with the same, the older job, in any order of squeue."""
    queue = [FULL[2], waits("10"), waits("100" if first else "9", **first)]
    leaves = evicted(queue, capped(queue, 1), [node(8, 1)])
    assert [decision.mark and decision.mark.waiting for decision in leaves] == ["100" if first else "9"]


def test_an_account_that_a_coordinator_added_delays_no_other_job() -> None:
    """The parent of the account is unknown to the arbiter: no job leaves for its jobs, and all others are served."""
    queue = [*FULL, waits("8", account="b", priority=9000), job("7", account="b"), waits("9")]
    lab, sub = capped(queue, 4), capped(queue, 1, "b")
    known = Limits({**lab.accounts, **sub.accounts}, {"a": "root", "b": "not-known"}, {})
    assert [decision.mark and decision.mark.waiting for decision in evicted(queue, known, [node(8, 4)])] == ["9"]


def test_no_job_leaves_if_the_pool_has_no_room() -> None:
    queue = [*FULL, waits("9", gpus=2), job("owner", account="b", partitions=("short",), nodes="n2", gpus=8)]
    assert evicted(queue, capped(queue, 4), [node(8, 8, "n2")]) == []
    one_each = [dataclasses.replace(node(1, 0, name)) for name in ("n3", "n4")]
    assert evicted(queue, capped(queue, 4), one_each) == []
    assert evicted(queue, capped(queue, 4), [dataclasses.replace(node(8, 0), away=True)]) == []
    assert evicted(queue, capped(queue, 4), [node(8, 0)])


def test_overcap_jobs_make_room_since_slurm_preempts_them() -> None:
    borrowed = job("b1", account="overcap", partitions=("overcap",), nodes="n2", gpus=8)
    queue = [*FULL, waits("9", gpus=2), borrowed]
    assert [decision.job.name for decision in evicted(queue, capped(queue, 4), [node(8, 8, "n2")])] == ["2"]


def test_several_jobs_that_free_enough_together_all_leave_or_none() -> None:
    queue = [*FULL, waits("9", gpus=4)]
    assert sorted(decision.job.name for decision in evicted(queue, capped(queue, 4), [node(8, 4)])) == ["1", "2", "3"]
    assert evicted([*queue[:2], queue[3]], capped(queue[:3], 4), [node(8, 4)]) == []


def test_a_waiting_array_gets_room_for_all_its_runnable_tasks_from_as_few_jobs_as_possible() -> None:
    queue = [*FULL, waits("9", tasks=2)]
    assert [decision.job.name for decision in evicted(queue, capped(queue, 4), [node(8, 4)])] == ["2"]


def test_without_a_grace_time_jobs_end_at_once() -> None:
    queue = [*FULL, waits("9")]
    rules = dataclasses.replace(RULES, grace={"user-overcap": 0})
    assert [
        (decision.act, decision.job.name) for decision in evicted(queue, capped(queue, 4), [node(8, 4)], rules)
    ] == [("end", "3")]


def test_no_other_job_leaves_during_the_first_grace_time() -> None:
    marked = dataclasses.replace(FULL[2], comment=str(Mark(NOW + 30, 0, "9")))
    queue = [*FULL[:2], marked, waits("9")]
    assert evicted(queue, capped(queue, 4), [node(8, 4)]) == []


def test_no_other_job_leaves_at_once_if_another_job_took_the_room() -> None:
    """The lab's next user-overcap job took the place: the job that left carries the mark of its last run."""
    left = job("3", comment=str(Mark(NOW - 20, 0, "9")), restarts=1, states=frozenset({"PENDING"}), has={}, nodes="")
    queue = [*FULL[:2], left, job("4", start=NOW - 10), waits("9")]
    assert evicted(queue, capped(queue, 4), [node(8, 4)]) == []
    later = decide.evictions(
        queue, capped(queue, 4), Room([node(8, 4)], queue, RULES.grace), RULES, NOW - 20 + decide.SETTLE
    )
    assert [decision.job.name for decision in later] == ["4"]


def test_a_grace_time_ends_to_the_second_and_never_early() -> None:
    preempted = job("5", preempted=NOW - 60, end=NOW, partitions=("overcap",), account="overcap")
    # Slurm shows NOW - 60 for NOW - 59.01
    assert decide.overdue([preempted], RULES, NOW + 0.9) == []
    assert decide.deadline([preempted], RULES) == NOW + 1
    assert [(decision.act, decision.job.name) for decision in decide.overdue([preempted], RULES, NOW + 1)] == [
        ("end", "5")
    ]


def test_a_job_that_slurm_gives_no_time_ends_at_once_and_an_earlier_end_is_ignored() -> None:
    def preempted(end: int) -> list[Job]:
        return [job("5", preempted=NOW, end=end, partitions=("overcap",), account="overcap")]

    assert decide.deadline(preempted(NOW), RULES) == NOW + 1
    assert decide.deadline(preempted(NOW - 1), RULES) is None


def test_a_job_that_was_preempted_while_its_node_booted_ends_after_its_grace_time() -> None:
    booted = job("5", preempted=NOW - 90, start=NOW - 50, end=NOW + 3600, partitions=("overcap",), account="overcap")
    assert decide.deadline([booted], RULES) == NOW - 90 + RULES.grace["overcap"] + 1
    assert [decision.act for decision in decide.overdue([booted], RULES, NOW)] == ["end"]


def test_only_preempted_or_signalled_jobs_are_ended() -> None:
    over = job("5", end=NOW - 100)
    owner = job("6", partitions=("short",), preempted=NOW - 60, end=NOW)
    completing = job("7", preempted=NOW - 60, end=NOW, states=frozenset({"RUNNING", "COMPLETING"}))
    last_run = job("8", comment=str(Mark(NOW - 1, 0, "9")), restarts=1)
    assert decide.overdue([over, owner, completing, last_run, waits("9")], RULES, NOW) == []


def test_a_signalled_job_is_spared_if_the_waiting_job_has_left_the_queue() -> None:
    marked = job("3", comment=f"of an admin {Mark(NOW, 0, '9')}")
    assert [decision.act for decision in decide.overdue([marked, waits("9")], RULES, NOW)] == ["end"]
    assert [decision.act for decision in decide.overdue([marked, waits("9_4")], RULES, NOW)] == ["end"]
    spared = decide.overdue([marked, job("9", partitions=("short",))], RULES, NOW)
    assert [decision.act for decision in spared] == ["spare"]
    assert act.notes(spared) == [(["scontrol", "update", "JobId=3", "AdminComment=of an admin"], spared)]


# Nodes that a job names


@pytest.mark.parametrize(
    ("wish", "leaves"),
    [
        ({"required": frozenset({"n1"})}, False),
        ({"required": frozenset({"n2"})}, True),
        ({"required": frozenset({"n2", "n1"})}, False),
        ({"required": frozenset({"n9"})}, False),
        ({"excluded": frozenset({"n2"})}, False),
        ({"excluded": frozenset({"n1"})}, True),
        ({"required": frozenset({"n2"}), "node_count": 2}, False),
        ({"shared": "none"}, True),
    ],
)
def test_no_job_leaves_for_a_job_that_cannot_start_on_its_nodes(wish: dict[str, object], leaves: bool) -> None:
    """n1 is full of jobs that stay; on n2 there is room."""
    queue = [job(str(number), nodes="n2") for number in range(2)]
    nodes = [node(8, 8, "n1"), node(8, 2, "n2")]
    waiting = waits("9", gpus=2, **wish)
    assert bool(evicted([*queue, waiting], capped(queue, 2), nodes)) == leaves


def test_a_job_on_whole_nodes_needs_a_node_that_becomes_empty() -> None:
    queue = [job(str(number)) for number in range(2)]
    waiting = waits("9", shared="none")
    assert evicted([*queue, waiting], capped(queue, 2), [node(8, 2)])
    assert not evicted([*queue, waiting], capped(queue, 2), [node(8, 3)]), "an owner's job is on it"


def test_of_identical_jobs_only_one_is_examined() -> None:
    """Of 4000 identical pending jobs that cannot start, the arbiter examines one, however many others could leave."""
    queue = [job(str(number)) for number in range(280)]
    asked: list[str] = []

    class Counted(Room):
        def take(self, waiting: Job, partitions: Collection[str]) -> bool:
            asked.append(waiting.name)
            return super().take(waiting, partitions)

    many = [waits(str(number), gpus=8) for number in range(1000, 5000)]
    room = Counted([node(280, 280), node(4, 0, "n2")], [], RULES.grace)
    assert not decide.evictions([*queue, *many], capped(queue, 280), room, RULES, NOW)
    assert asked == ["1000"]


# Actions


def answering(*answers: str) -> act.Ask:
    """Return answers to commands in this order: sacct's lines, `JOB|LINE`, between its marks."""
    left = list(answers)

    def ask(command: list[str]) -> str:
        text = left.pop(0)
        if command[0] == "sacct":
            (mark,) = (word.removeprefix("--delimiter=") for word in command if word.startswith("--delimiter="))
            rows = [row.split("|", 1) for row in text.split("\n") if row]
            text = "".join(f"{name}{mark}{line}{mark}77\n" for name, line in rows)
        return text

    return ask


def leaves(victim: Job, waiting: str = "9") -> decide.Decision:
    return decide.Decision("signal", victim, "", Mark(NOW + 60, victim.restarts, waiting))


def test_with_preemption_by_qos_the_grace_time_is_that_of_the_qos() -> None:
    rules = decide.Settings(qos_grace={"guest": 60}, tier=RULES.tier)
    guest, other = (job(name, qos=qos, preempted=NOW - 59, end=NOW) for name, qos in (("5", "guest"), ("6", "normal")))
    assert [decision.job.name for decision in decide.overdue([guest, other], rules, NOW + 1)] == ["5"]
    # with grace times by QoS the partition has none, and only jobs that Slurm itself preempts leave
    assert not crowd.begun([guest, job("7", qos="guest")], rules)


def test_each_action_is_that_of_the_partition_or_the_qos() -> None:
    ends = [
        decide.Decision("end", job("1"), ""),
        decide.Decision("end", job("2", partitions=("overcap",)), ""),
        decide.Decision("end", job("3", qos="guest"), ""),
    ]
    again, never = ["scontrol", "requeue", "Incomplete"], ["scancel"]
    by_partition = dataclasses.replace(RULES, actions={"overcap": "cancel"})
    assert act.endings(ends, by_partition) == [[*again, "1,3"], [*never, "2"]]
    by_qos = dataclasses.replace(
        RULES, qos_grace={"guest": 0, "normal": 0}, actions={"guest": "requeue"}, action="cancel"
    )
    assert act.endings(ends, by_qos) == [[*again, "3"], [*never, "1", "2"]]


@pytest.mark.parametrize(
    ("action", "command"), [("requeue", ["scontrol", "requeue", "Incomplete", "1"]), ("cancel", ["scancel", "1"])]
)
def test_a_job_ends_with_the_command_of_its_preemption_action(
    action: Literal["requeue", "cancel"], command: list[str]
) -> None:
    end = decide.Decision("end", job("1"), "")
    assert act.endings([end], dataclasses.replace(RULES, action=action)) == [command]


def test_jobs_that_end_together_need_one_command_and_jobs_without_requeue_get_a_message() -> None:
    leave = [
        decide.Decision("end", victim, "preempted by Slurm, and its grace time is over")
        for victim in (job("1"), job("2", requeue=False), job("3_4"), job("5", batch=False))
    ]
    assert act.endings(leave, RULES) == [["scontrol", "requeue", "Incomplete", "1,3_4"], ["scancel", "2", "5"]]
    messages = act.notifications(leave, RULES)
    assert [words[:3] for words in messages] == [["scontrol", "notify", "2"], ["scontrol", "notify", "5"]]
    assert messages[0][3] == "gpupool: PREEMPTED: job 2 was preempted by Slurm, and its grace time is over"


def test_a_preempted_run_is_marked_for_sacct() -> None:
    before = "mine [gpupool: leaves at 1, run 0, for job 9]"
    queue = [
        job(name, preempted=NOW - 60, end=NOW - 1, comment=comment, restarts=restarts)
        for name, comment, restarts in (("3_1", "", 0), ("3_2", "", 0), ("4", before, 1))
    ]
    assert [words for words, _ in act.notes(decide.overdue(queue, RULES, NOW))] == [
        ["scontrol", "update", "JobId=3_1,3_2", "AdminComment=[gpupool: preempted by Slurm, run 0]"],
        ["scontrol", "update", "JobId=4", "AdminComment=mine [gpupool: preempted by Slurm, run 1]"],
    ]


@pytest.mark.parametrize(
    ("line", "script", "commands"),
    [
        ("sbatch --signal=USR1@300 a.sh", "", [["scancel", "--signal=USR1", "3"]]),
        ("sbatch --signal B:USR2@60 a.sh", "", [["scancel", "--batch", "--signal=USR2", "3"]]),
        ("sbatch a.sh", "#!/bin/sh\n#SBATCH --signal=RB:10@60\n", [["scancel", "--batch", "--signal=USR1", "3"]]),
        (
            "sbatch a.sh",
            "#!/bin/sh\n# --signal=USR1\n",
            [["scancel", "--signal=CONT", "3"], ["scancel", "--signal=TERM", "3"]],
        ),
        ("", "", [["scancel", "--signal=CONT", "3"], ["scancel", "--signal=TERM", "3"]]),
    ],
)
def test_the_signals_are_those_of_preemption(line: str, script: str, commands: list[list[str]]) -> None:
    assert act.signals([leaves(job("3"))], RULES, answering(f"3|{line}", script)) == commands


DEFAULT = [["scancel", "--signal=CONT", "3"], ["scancel", "--signal=TERM", "3"]]


@pytest.mark.parametrize(
    "name", ["KILL", "kill", "SIGKILL", "9", "STOP", "19", "TSTP", "TTIN", "22", "B:KILL", "zzz", "0"]
)
def test_no_signal_ends_or_stops_a_job_during_its_grace_time(name: str) -> None:
    assert act.signals([leaves(job("3"))], RULES, answering(f"3|sbatch --signal={name} a.sh")) == DEFAULT
    script = f"#SBATCH --signal={name}@60\n"
    assert act.signals([leaves(job("3"))], RULES, answering("3|sbatch a.sh", script)) == DEFAULT


def test_a_submit_line_of_one_user_sets_no_signal_for_the_job_of_another() -> None:
    """As sacct printed it: job 5 was submitted with a newline and the number of job 3."""
    listed = (
        "3abcdsbatch a.shabcd3\n"
        "5abcdsbatch --wrap sleep 60 #\n3|--signal=KILL\n3abce--signal=USR2abce3 --signal=B:USR1@30abcd5\n"
    )
    lines = act.submit_lines(["3", "5"], lambda _: listed, "abcd")
    assert lines["3"] == "sbatch a.sh"
    assert lines["5"].endswith("--signal=B:USR1@30")
    assert set(lines) == {"3", "5"}


def test_jobs_that_leave_together_are_marked_and_signalled_in_few_commands() -> None:
    some = [leaves(job("3_1")), leaves(job("3_2")), leaves(job("4", comment="mine")), leaves(job("5"), waiting="8")]
    mark = some[0].mark
    assert [words for words, _ in act.notes(some)] == [
        ["scontrol", "update", "JobId=3_1,3_2", f"AdminComment={mark}"],
        ["scontrol", "update", "JobId=4", f"AdminComment=mine {mark}"],
        ["scontrol", "update", "JobId=5", f"AdminComment={some[3].mark}"],
    ]
    # one script for the array, and one for each of the others without a signal
    answers = answering(
        "3_1|sbatch a\n3_2|sbatch a\n4|sbatch --signal=USR1 b\n5|sbatch c", "#SBATCH --signal=B:USR2", ""
    )
    assert act.signals(some, RULES, answers) == [
        ["scancel", "--batch", "--signal=USR2", "3_1", "3_2"],
        ["scancel", "--signal=USR1", "4"],
        ["scancel", "--signal=CONT", "5"],
        ["scancel", "--signal=TERM", "5"],
    ]


def test_submit_lines_are_not_read_if_preemption_sends_no_user_signal() -> None:
    rules = dataclasses.replace(RULES, user_signal=False)
    commands = act.signals([leaves(job("3")), leaves(job("4"))], rules, answering())
    assert commands == [["scancel", "--signal=CONT", "3", "4"], ["scancel", "--signal=TERM", "3", "4"]]


# Any queue


@st.composite
def queues(draw: st.DrawFn) -> list[Job]:
    jobs = []
    for number in range(draw(st.integers(0, 12))):
        account = draw(st.sampled_from(["a", "b", "overcap"]))
        partition = draw(st.sampled_from(["short", "user-overcap", "overcap"]))
        some = {"account": account, "gpus": draw(st.integers(1, 4)), "user": draw(st.sampled_from(["u1", "u2"]))}
        if draw(st.booleans()):
            some |= {"partitions": (partition,), "start": NOW - draw(st.integers(1, 99))}
            some |= {"nodes": "n1", "preempted": draw(st.sampled_from([0, 0, NOW - 5]))}
            jobs.append(job(str(number), **some))
        else:
            reason = draw(st.sampled_from(["AssocGrpGRES", "AssocGrpGRES", "Priority", "QOSMaxGRESPerUser"]))
            jobs.append(waits(str(number), **some, partitions=(partition, "short"), reason=reason))
    return jobs


@given(queues(), st.integers(0, 20))
def test_only_preemptable_jobs_of_the_same_lab_leave_and_none_too_many(queue: list[Job], cap: int) -> None:
    known = [capped(queue, cap, account) for account in ("a", "b", "overcap")]
    lab = Limits(
        {name: limit for limits in known for name, limit in limits.accounts.items()},
        {"a": "root", "b": "root", "overcap": ""},
        {},
    )
    chosen = evicted(queue, lab, [node(16, 0)])
    assert len({decision.job.name for decision in chosen}) == len(chosen)
    for decision in chosen:
        assert decision.mark
        assert decision.job.running
        assert decision.job.partitions == ("user-overcap",)
        assert not decision.job.preempted
        waiting = next(other for other in queue if other.name == decision.mark.waiting)
        assert waiting.account == decision.job.account
        assert waiting.pending
        assert waiting.reason == "AssocGrpGRES"
    for account in lab.accounts:
        gone = [decision.job for decision in chosen if decision.job.account == account]
        served = {decision.mark.waiting for decision in chosen if decision.mark and decision.job.account == account}
        asked = sum(other.asks["gres/gpu"] for other in queue if other.name in served)
        over = lab.accounts[account].used["gres/gpu"] + asked - cap
        freed = sum(job.amount("gres/gpu") for job in gone)
        # enough for the jobs for which they left, and not enough if any one of them stayed
        leaving = [
            job for job in queue if job.account == account and job.preempted and job.partitions == ("user-overcap",)
        ]
        already = sum(job.amount("gres/gpu") for job in leaving)
        if gone:
            assert freed + already >= over
    if chosen:
        assert evicted([*queue, *()], lab, [node(16, 0)]) == chosen


@given(st.lists(st.integers(1, 8), min_size=1, max_size=8), st.integers(1, 20))
def test_each_job_that_leaves_is_necessary(sizes: list[int], wanted: int) -> None:
    queue = [job(str(n), gpus=size, start=NOW - n - 1) for n, size in enumerate(sizes)]
    queue.append(waits("99", gpus=wanted))
    freed = [decision.job.amount("gres/gpu") for decision in evicted(queue, capped(queue, sum(sizes)), [node(400, 0)])]
    if wanted > sum(sizes):
        assert freed == []
    else:
        assert sum(freed) >= wanted
        assert all(sum(freed) - one < wanted for one in freed)
