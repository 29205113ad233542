"""A hostile user: requests that would harm slurmctld or other users are refused, also as changes of a job.

A job that circumvents this is stopped by the guard.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from gpupool.programs.arbiter.guard import MARK
from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import single
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, verdict, with_labs
from gpupool.rehearsal.stage import QueueSnapshot, Stage
from gpupool.rehearsal.twin.jobs import Ask, Refusal
from gpupool.wording import counted

_ARRAY = 1000  # tasks; the default of MaxArraySize is 1001
_TASKS = 4
_PING = "pgrep -x slurmctld | sort | head -n 1"


@dataclass(frozen=True)
class _Attack:
    """sbatch options that must be refused; with `changes`, the options must be accepted, and each change refused."""

    text: str
    options: tuple[str, ...]
    changes: tuple[str, ...] = ()


def _attacks(expected: Expected) -> Iterator[_Attack]:
    lab = expected.labs[0]
    own = (f"--partition={lab.partition}", f"--account={lab.name}")
    kind = f"{next(gpu for node in expected.compute for gpu in node.gpus)}:" if expected.typed else ""
    yield _Attack("a job with --spread-job, which ends slurmctld", (*own, f"--gpus={kind}2", "--spread-job"))
    yield _Attack("a held job with --spread-job, without GPUs yet", (*own, "--hold", "--ntasks=1", "--spread-job"))
    exclude = "x" + "[0-9]" * 5
    yield _Attack("a list of 100,000 nodes", (*own, f"--exclude={exclude}"))
    yield _Attack(
        "a list of 100,000 nodes, later", (*own, "--hold"), (f"ExcNodeList={exclude}", f"ReqNodeList={exclude}")
    )
    for loan in expected.loans[:1]:
        lent = (f"--partition={loan.partition.name}", f"--account={loan.account}", f"--gpus-per-node={kind}1")
        for options in ((*own, ":", *lent), (*lent, ":", *own)):
            yield _Attack("a heterogeneous job, of which one component is preemptable and one is not", options)
    of_cpus = max((expected.cluster.scheduler.most_cpus(gpu) or 0 for gpu in expected.cluster.gpu_types), default=0)
    if of_cpus:
        one = (*own, f"--gpus={kind}1", "--ntasks=1")
        yield _Attack("CPUs of many GPUs for one GPU", (*one, f"--cpus-per-task={of_cpus + 1}"))
        yield _Attack("CPUs of many GPUs for one GPU, later", (*one, "--hold"), (f"CPUsPerTask={of_cpus + 1}",))
    most = expected.cluster.scheduler.max_memory
    if most.per_cpu:
        much = f"--mem={_TASKS * most.per_cpu}M"
        tasks = (*own, f"--ntasks={_TASKS}", much)
        yield _Attack("memory of many tasks for one CPU", (*tasks, "--nodes=1", "--overcommit"))
        yield _Attack("memory of many tasks on each of many nodes", tasks)
        changes = ("NumTasks=1", "NumCPUs=1-1", f"NumNodes={_TASKS}", f"MinMemoryNode={2 * _TASKS * most.per_cpu}")
        yield _Attack("memory of many tasks for fewer tasks, later", (*tasks, "--nodes=1", "--hold"), changes)
    if most.per_gpu:
        by_cpu = ("--mincpus=8", f"--mem-per-cpu={max(most.per_gpu.values())}M")
        yield _Attack("memory of eight GPUs for one GPU", (*own, f"--gpus={kind}1", *by_cpu))


def _try(stage: Stage) -> Verdict:
    expected = stage.expected
    twin, user = stage.twin, expected.labs[0].members[0].name
    stage.empty()
    before = twin.run(_PING).out
    bypass = _bypass(stage, user)
    attacks = list(_attacks(expected))
    wrong = []
    for attack in attacks:
        (answer,) = twin.submit([Ask(user, attack.options)])
        if not attack.changes and not isinstance(answer, Refusal):
            wrong.append(f"{attack.text}: sbatch accepted it")
        elif attack.changes and isinstance(answer, Refusal):
            wrong.append(f"a job within the limits was refused: {answer.message}")
        for change in () if isinstance(answer, Refusal) else attack.changes:
            if not twin.run(f"scontrol update jobid={answer} {change}", user).code:
                wrong.append(f"{attack.text}: scontrol accepted {change}")
        if not isinstance(answer, Refusal):
            twin.run(f"scancel {answer}")
    wrong += _too_many(stage, user)
    wrong += _unguarded(stage, bypass)
    tried = f"{counted(len(attacks), 'way')} to take more than one's share, and many jobs at once"
    if twin.run(_PING).out != before:
        return broken(tried, "slurmctld died")
    other = stage.submit(single(expected, expected.labs[-1], 1))
    runs, snapshot = stage.until(lambda snapshot: bool(snapshot.running(other)), stage.patience())
    if not runs:
        wrong.append(f"a job of {expected.labs[-1].name} is pending: {snapshot.reasons(other)}")
    stage.cancel(other)
    return verdict(tried, wrong, "all were refused or stopped, and another lab's job started at once")


def _bypass(stage: Stage, user: str) -> str | Refusal | None:
    """Start a job with more memory than is allowed, and return its number; None if there is no limit.

    Root changes the job after its submission, which the submit plugin allows, to test a job that evades the plugin.
    """
    each = stage.expected.cluster.scheduler.max_memory.per_cpu
    if not each:
        return None
    lab = stage.expected.labs[0]
    own = (f"--partition={lab.partition}", f"--account={lab.name}", "--hold", "--ntasks=1", f"--mem={each}M")
    (answer,) = stage.twin.submit([Ask(user, own)])
    if isinstance(answer, str):
        stage.watch.hostile.add(answer)
        stage.twin.run(f"scontrol update jobid={answer} MinMemoryNode={_TASKS * each}; scontrol release {answer}")
    return answer


def _unguarded(stage: Stage, job: str | Refusal | None) -> Iterator[str]:
    """Yield a problem if the guard does not stop the job of `_bypass`."""
    if isinstance(job, Refusal):
        yield f"a job within its bounds was refused: {job.message}"
    elif job:
        seen = f"squeue -h -j {job} -t PD -o %k | grep -F {shlex.quote(MARK)} || sacct -nX -j {job} -o state%20"

        def is_stopped(_: QueueSnapshot) -> bool:
            shown = stage.twin.run(seen).out
            return MARK in shown or "CANCELLED" in shown

        stopped, _ = stage.until(is_stopped, stage.patience())
        if not stopped:
            yield f"a job with {_TASKS} times the allowed memory was not stopped: {stage.twin.run(seen).out.strip()}"
        stage.twin.run(f"scancel {job}")


def _too_many(stage: Stage, user: str) -> Iterator[str]:
    """Submit held jobs beyond a user's limit; yield a problem if all are accepted, or if another user's is refused."""
    limit = stage.expected.cluster.scheduler.max_submitted_jobs
    if limit is None:
        return
    lab = stage.expected.labs[0]
    own = (f"--partition={lab.partition}", f"--account={lab.name}", "--hold", f"--array=1-{_ARRAY}")
    answers = stage.twin.submit([Ask(user, own)] * (limit // _ARRAY + 1))
    if not isinstance(answers[-1], Refusal):
        yield f"{user} may have more than {limit} jobs"
    other = stage.expected.labs[-1]
    options = (f"--partition={other.partition}", f"--account={other.name}", "--hold")
    (theirs,) = stage.twin.submit([Ask(other.members[-1].name, options)])
    if isinstance(theirs, Refusal):
        yield f"{other.name} cannot submit any more: {theirs.message}"
    stage.twin.run(" ".join(["scancel", *(answer for answer in (*answers, theirs) if isinstance(answer, str))]))


HOSTILE = Promise(
    "hostile-user",
    "No user can take memory or GPUs from other users, or stop Slurm, with a special request",
    ("SKY-036",),
    with_labs,
    _try,
)
