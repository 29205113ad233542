"""Time limits of jobs by partition and QoS, and the end of a job at its time limit."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpupool.cluster.accounts import User
from gpupool.cluster.partition import Partition
from gpupool.cluster.units import format_duration
from gpupool.rehearsal.expected import Expected, Lab
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, kept, verdict
from gpupool.rehearsal.stage import CYCLE, Stage, SubmittedJobs
from gpupool.rehearsal.twin.jobs import Job
from gpupool.slurm import jobs, times

_COLUMNS = "%i|%l"
_MINUTE = 60  # Slurm's unit of time limits, in seconds
_ENDED = "/tmp/gpupool-ended-%A.out"


@dataclass(frozen=True)
class Case:
    """A partition and a QoS, with the time limit (`wall`) and that of a job without --time (`unasked`) in seconds.

    `named` is the --time that a job needs if the partition's default is above the QoS's limit.
    """

    request: JobRequest
    qos: str | None
    wall: int
    unasked: int
    named: tuple[str, ...] = ()


def cases(expected: Expected) -> Iterator[Case]:
    """Yield each partition with its default QoS, and each QoS in one of the partitions with equal limits."""
    seen: list[object] = []
    for partition in (*expected.owner_partitions, *expected.preemptable):
        times = (partition.entry.max_time, partition.default_time)
        alike = (times, partition.limits, partition.entry.qos, partition.entry.default_qos, partition.preemptable)
        others = () if alike in seen else tuple(expected.cluster.qos)
        seen.append(alike)
        for qos in (None, *others):
            who = next(
                ((user, account) for user, account in expected.people(partition)
                 if (qos is None or qos in expected.qos_for(user, partition, account))
                 and expected.may_hold(account, *_least(expected, partition, account, qos))), None,
            )  # fmt: skip
            if who is None:
                continue
            user, account = who
            asked = qos or expected.default_qos(partition, account)
            wall, unasked = expected.wall(partition, asked, account), expected.unasked(partition, asked, account)
            if wall and unasked:
                more = ("--mem=10M", *((f"--qos={qos}",) if qos else ()))
                of_qos = expected.cluster.qos[qos].max_wall if qos else None
                default = partition.default_time
                named = of_qos and (of_qos > wall if default is None else default > wall)
                kind, gpus = _least(expected, partition, account, qos)
                request = JobRequest(
                    user.account, user.name, account, partition.name, gpus=gpus, gpu_type=kind, more=more
                )
                yield Case(request, qos, wall, unasked, (f"--time={wall // _MINUTE}",) if named else ())


def _least(expected: Expected, partition: Partition, account: str, qos: str | None) -> tuple[str | None, int]:
    """Return the type and number of the GPUs that a job must request."""
    gpus = expected.least_gpus(partition, qos or expected.default_qos(partition, account))
    return (expected.type_in(partition.name) if gpus else None), gpus


def _not_made_because(expected: Expected) -> str | None:
    return None if any(cases(expected)) else "no partition and no QoS has a time limit"


def _try(stage: Stage) -> Verdict:
    chosen = list(cases(stage.expected))
    plain = stage.submit(replace(case.request, more=(*case.request.more, *case.named, "--hold")) for case in chosen)
    over = stage.submit(
        replace(case.request, more=(*case.request.more, f"--time={case.wall // _MINUTE + 1}")) for case in chosen
    )
    shown = stage.twin.run(f"squeue -a -h -o '{_COLUMNS}'").out
    limits = {job.id: job.limit for job in jobs.read(shown, _COLUMNS)}
    at = {_key(case.request): case for case in chosen}
    wrong = [f"{_where(at[_key(request)])}: refused: {words}" for request, words in plain.refused]
    for number, request in plain.requests.items():
        case = at[_key(request)]
        partition = stage.expected.cluster.partitions[request.partition]
        limit = _seconds(limits.get(number, ""), partition.default_time or partition.entry.max_time)
        if limit != case.unasked:
            wrong.append(f"{_where(case)} ends after {limits.get(number)}, not {format_duration(case.unasked)}")
    _, snapshot = stage.until(
        lambda snapshot: all(_stopped(job) for job in snapshot.of(over)), stage.patience(len(over.requests))
    )
    for job in snapshot.of(over):
        if not _stopped(job):
            happened = "runs" if job.state == "RUNNING" else f"is pending for another reason: {job.reason}"
            wrong.append(f"{_where(at[_key(over.requests[job.array])])}: a job with one minute beyond it {happened}")
    stage.cancel(plain, over)
    tried = f"{len(chosen)} pairs of partition and QoS, without --time and with one minute beyond the limit"
    waits = f", {len(over.requests)} wait forever" if over.requests else ""
    return verdict(
        tried, wrong, f"each had its own time limit; of the jobs beyond it {len(over.refused)} were refused{waits}"
    )


def _stopped(job: Job) -> bool:
    """Return whether a job is pending because of a time limit."""
    return job.state == "PENDING" and any(word in job.reason for word in ("Wall", "TimeLimit"))


def _key(request: JobRequest) -> tuple[str, str]:
    return request.partition, next((option for option in request.more if option.startswith("--qos")), "")


def _where(case: Case) -> str:
    return f"{case.request.partition}{f' with --qos={case.qos}' if case.qos else ''}"


def _seconds(limit: str, of_partition: int | None) -> int | None:
    return of_partition if limit == "NOT_SET" else times.seconds(limit)


WALLS = Promise(
    "walls",
    "Every partition and QoS has the time limit of the inventory",
    ("SKY-103", "SKY-124", "SKY-153", "SKY-154", "SKY-155", "SKY-187"),
    _not_made_because,
    _try,
)


def _begin(stage: Stage) -> None:
    # the claims of other promises would preempt a preemptable job: it begins when they are over
    _, partition, _ = _host(stage.expected)
    if not stage.expected.cluster.partitions[partition].preemptable:
        stage.earlier.timeout = _begin_timeout(stage)


def _begin_timeout(stage: Stage) -> SubmittedJobs:
    account, partition, user = _host(stage.expected)
    more = ("--time=1", "--mem=10M", f"--output={_ENDED}", f"--error={_ENDED}")
    kind, gpus = _least(stage.expected, stage.expected.cluster.partitions[partition], account, None)
    return stage.submit([JobRequest(user.account, user.name, account, partition, 1, gpus, gpu_type=kind, more=more)])


def _host(expected: Expected) -> tuple[str, str, User]:
    """Return account, partition and user for the job of TIMEOUT, which must not hinder claims or tests of limits."""
    each = max(expected.cluster.scheduler.default_memory.of_gpus(expected.cluster.gpu_types), default=0)

    def spare(lab: Lab) -> float:
        return float("inf") if lab.group.mem is None else lab.group.mem - lab.cap * each

    def unlimited(lab: Lab) -> bool:
        partition = next(partition for partition in expected.owner_partitions if partition.name == lab.partition)
        allowance = expected.allowance(lab.members[0], partition, lab.name, None)
        return allowance.cpu is None and allowance.jobs is None

    labs = sorted(expected.labs, key=lambda lab: (spare(lab), unlimited(lab)))
    if labs and spare(labs[-1]) > 0:
        return labs[-1].name, labs[-1].partition, labs[-1].members[0]
    if expected.loans:
        loan = expected.loans[-1]
        return loan.account, loan.partition.name, next(expected.people(loan.partition))[0]
    user, account = next(expected.people(expected.owner_partitions[0]))
    return account, expected.owner_partitions[0].name, user


def _try_timeout(stage: Stage) -> Verdict:
    submitted = stage.earlier.timeout or _begin_timeout(stage)
    tried = "a job with a time limit of one minute"
    if submitted.refused:
        return broken(tried, f"it was refused: {submitted.refused[0][1]}")
    left = _MINUTE + 2 * CYCLE + 10 - (time.time() - submitted.at)
    stage.until(lambda snapshot: not snapshot.of(submitted), max(2, left))
    number = next(iter(submitted.requests))
    output = stage.twin.run(
        f"sacct -X -n -P -j {number} -o State,ElapsedRaw; cat {_ENDED.replace('%A', number)}; scancel {number}"
    ).out
    state, _, rest = output.partition("|")
    elapsed = rest.split("\n")[0]
    if state != "TIMEOUT":
        return broken(tried, f"after {time.time() - submitted.at:.0f} s it was {state.lower() or 'unknown'}")
    message = "and its output says so" if "TIME LIMIT" in output else "but its output does not say why"
    happened = f"it ended after {elapsed} s, {message}"
    return kept(tried, happened) if "TIME LIMIT" in output else broken(tried, happened)


def _can_run(expected: Expected) -> str | None:
    return (
        None
        if expected.owner_partitions and any(expected.people(expected.owner_partitions[0]))
        else "no user may run jobs for long"
    )


TIMEOUT = Promise(
    "timeout",
    "A job that reaches its time limit is ended, and its output says so",
    ("SKY-153",),
    _can_run,
    _try_timeout,
    _begin,
)
