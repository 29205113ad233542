"""Labs reclaim borrowed GPUs: each gets its cap, even if the pool is full of preemptable jobs."""

from dataclasses import replace

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import JobRequest, evenly, requested_gpus, single
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, kept, some, with_loans
from gpupool.rehearsal.promises.waves import (
    OUTPUT,
    claim,
    fill_with_borrowers,
    final,
    lacking,
    note_waits,
    reached,
    reclaimed,
)
from gpupool.rehearsal.stage import CYCLE, Stage, SubmittedJobs, percentile
from gpupool.wording import counted

# Seconds beyond the grace time for slurmctld's cycle and the start of jobs; multiplied on a slow machine.
TOLERATED = CYCLE + 15

_SETTLES = 8  # seconds: the arbiter acts at its second look, and Slurm starts jobs some seconds apart
_PAUSE = 1  # seconds between labs: a lab claims while jobs are still being preempted for the lab before it


def _full(stage: Stage) -> str:
    """Fill the pool with borrowers; return an empty text, or a text on what is lacking and the other jobs there.

    The pool is filled a second time if jobs of an earlier promise ended too late for the first.
    """
    pool = stage.expected.pool
    for _ in range(2):
        borrowers = fill_with_borrowers(stage)
        snapshot = stage.look()
        if (held := snapshot.gpus(borrowers)) == pool:
            return ""
    others = [f"{job.id} {job.state}" for job in snapshot.jobs if job not in snapshot.running(borrowers)]
    return f"only {held} of {pool} GPUs could be borrowed at first ({snapshot.reasons(borrowers)}); {some(others)}"


def _try_each(stage: Stage) -> Verdict:
    labs = evenly(stage.expected)
    tried = f"the pool full of borrowers, then {counted(len(labs), 'lab')} claimed their caps, one after the other"
    stage.earlier.reclaimed_each = True
    if wrong := _full(stage):
        return broken(tried, wrong)
    for turn, (lab, requests) in enumerate(labs.items()):
        claims = claim(stage, {lab: requests})
        if turn == 0:
            done, snapshot = reclaimed(stage, claims, stage.patience(requested_gpus(requests), evicts=True))
            if not done:
                note_waits(stage, snapshot, claims.values())
                return broken(tried, some(lacking(snapshot, claims)))
        else:
            reached(stage, claims, _PAUSE)
    last = stage.patience(stage.expected.pool, evicts=True)
    done, snapshot = reclaimed(stage, stage.earlier.claims, last)
    note_waits(stage, snapshot, stage.earlier.claims.values())
    stage.twin.pace()
    if not done:
        return broken(tried, some(lacking(snapshot, stage.earlier.claims)))
    return kept(
        tried, f"each got its cap, {sum(submitted.gpus for submitted in stage.earlier.claims.values())} GPUs in the end"
    )


def _try_all(stage: Stage) -> Verdict:
    labs = evenly(stage.expected)
    tried = f"the pool full of borrowers, then {counted(len(labs), 'lab')} claimed their caps at the same moment"
    if wrong := _full(stage):
        return broken(tried, wrong)
    claims = claim(stage, labs)
    total = sum(requested_gpus(requests) for requests in labs.values())
    done, snapshot = reclaimed(stage, claims, stage.patience(total, evicts=True))
    if not done:
        return broken(tried, some(lacking(snapshot, claims)))
    return kept(
        tried, f"all held their caps together, {sum(snapshot.gpus(submitted) for submitted in claims.values())} GPUs"
    )


def _try_requeue(stage: Stage) -> Verdict:
    borrowers = stage.earlier.borrowers
    if borrowers is None or not stage.earlier.claims or not stage.look().evicted(borrowers):
        fill_with_borrowers(stage)
        claims = claim(stage, evenly(stage.expected))
        reclaimed(stage, claims, stage.patience(stage.expected.pool, evicts=True))
        borrowers = stage.earlier.borrowers or SubmittedJobs({})
    snapshot = stage.look()
    untouched = {job.id for job in snapshot.running(borrowers)}
    gone = [number for number in final(borrowers) if number not in untouched]
    waiting = {job.id for job in snapshot.evicted(borrowers)}
    can = "jobs that cannot run again" if not stage.expected.cancels else "all"
    tried = f"{counted(len(waiting), 'evicted job')} while owners worked; then owners left. Output read: {can}"
    if not waiting and not stage.expected.cancels:
        return broken(tried, f"no evicted job is pending again ({stage.look().reasons(borrowers)})")
    if remaining := {job.id for job in stage.look().of(borrowers)} & set(gone):
        return broken(tried, f"{counted(len(remaining), 'job')} that cannot run again still there")
    silent, output = _outputs(stage, gone)
    if silent:
        return broken(tried, f"the output of {counted(silent, 'preempted job')} does not mention it")
    stage.cancel(*stage.earlier.claims.values())
    stage.earlier.claims = {}
    again, snapshot = stage.until(
        lambda snapshot: waiting <= {job.id for job in snapshot.running(borrowers) if job.restarts},
        stage.patience(len(waiting), again=True),
    )
    if not again:
        left = len(waiting) - sum(job.id in waiting and job.restarts > 0 for job in snapshot.running(borrowers))
        return broken(tried, f"{counted(left, 'evicted job')} did not run again ({snapshot.reasons(borrowers)})")
    restarts = sorted({job.restarts for job in snapshot.running(borrowers) if job.id in waiting})
    happened = f"all ran again (restarts {', '.join(map(str, restarts))})"
    summary = f"{happened}; {counted(len(gone), 'job')} that could not"
    if gone and _explained(output) < len(gone):
        return Verdict(tried, f"{summary} found in their output that they were cancelled, but not why", "void")
    return kept(tried, f"{summary} found in their output that they were preempted")


def _explained(output: str) -> int:
    """Return the number of outputs in which slurmd, or the arbiter before its scancel, names preemption."""
    return output.count("DUE TO PREEMPTION") + output.count("gpupool: PREEMPTED")


def _outputs(stage: Stage, gone: list[str]) -> tuple[int, str]:
    """Return how many of these ended jobs have no message about it in their output, and all outputs joined."""
    outputs = [stage.twin.run(f"cat {OUTPUT.replace('%A', number)}").out for number in gone]
    return sum("CANCELLED" not in output for output in outputs), "".join(outputs)


def _lender(expected: Expected) -> JobRequest | None:
    """Return preemptable jobs of a lab in a partition of a higher tier than the partition open to all, or None."""
    first = expected.loans[0].partition
    for lab in sorted(expected.labs, key=lambda lab: lab.cap):
        higher = [partition for partition in expected.lab_loans(lab.name) if partition.entry.tier > first.entry.tier]
        if higher and len(expected.labs) > 1:
            request = evenly(expected)[lab.name][0]
            return replace(request, partition=higher[-1].name, owned=False)
    return None


def _has_ranks(expected: Expected) -> str | None:
    if reason := with_loans(expected):
        return reason
    return None if _lender(expected) else "labs have no preemptable partition above the partition for all users"


def _try_ranks(stage: Stage) -> Verdict:
    expected = stage.expected
    request = _lender(expected)
    assert request is not None
    first = expected.loans[0].partition.name
    asked = f"{request.lab} requested {request.gpus} GPUs in {request.partition}"
    tried = f"the pool full of {first}; {asked}, then an owner claimed GPUs"
    if wrong := _full(stage):
        return broken(tried, wrong)
    middle = stage.submit([request])
    done, snapshot = stage.until(
        lambda snapshot: snapshot.gpus(middle) == middle.gpus, stage.patience(request.gpus, evicts=True)
    )
    if not done:
        return broken(tried, f"{request.partition} did not get its GPUs from {first} ({snapshot.reasons(middle)})")
    lab = max((lab for lab in expected.labs if lab.name != request.lab), key=lambda lab: lab.cap)
    claims = claim(stage, {lab.name: evenly(expected)[lab.name][:2]})
    done, snapshot = reclaimed(stage, claims, stage.patience(8, evicts=True))
    gone = middle.gpus - snapshot.gpus(middle)
    went = len(snapshot.evicted(stage.earlier.borrowers or SubmittedJobs({})))
    stage.cancel(middle, *claims.values())
    stage.earlier.claims = {}
    if not done:
        return broken(tried, some(lacking(snapshot, claims)))
    if gone:
        return broken(tried, f"{counted(gone, 'job')} of {request.partition} were preempted while {first} held GPUs")
    return kept(tried, f"{counted(went, 'job')} of {first} were preempted, none of {request.partition}")


def _try_speed(stage: Stage) -> Verdict:
    if not stage.earlier.waits and not stage.earlier.reclaimed_each:
        fill_with_borrowers(stage)
        lab = min(stage.expected.labs, key=lambda lab: lab.cap)
        claims = claim(stage, {lab.name: evenly(stage.expected)[lab.name]})
        _, snapshot = reclaimed(stage, claims, stage.patience(lab.cap, evicts=True))
        note_waits(stage, snapshot, claims.values())
    waits = stage.earlier.waits
    tried = f"{counted(len(waits), 'owner job')} at a full pool, from submission to start, less the grace time"
    if not waits:
        return broken(tried, "no owner job started")
    middle, most = percentile(waits, 0.5), percentile(waits, 0.95)
    happened = f"half started within {middle:.0f} s, 95 of 100 within {most:.0f} s, all within {max(waits):.0f} s"
    return kept(tried, happened) if most <= TOLERATED * stage.twin.slowest() else broken(tried, happened)


EACH = Promise(
    "reclaim-each",
    "A lab gets borrowed GPUs back, up to its cap, whenever it needs them",
    ("SKY-036", "SKY-121"),
    with_loans,
    _try_each,
)


def _try_array(stage: Stage) -> Verdict:
    expected = stage.expected
    lab = min((lab for lab in expected.labs if lab.cap > 1), key=lambda lab: lab.cap)
    request = max(single(expected, lab), key=lambda request: request.count)
    number = min(4, request.count)
    tried = f"the pool full of borrowers; {lab.name} claimed {number} GPUs with one array of {number} tasks"
    if wrong := _full(stage):
        return broken(tried, wrong)
    claims = claim(stage, {lab.name: [replace(request, count=number)]})
    together = stage.patience(number, evicts=True)
    done, snapshot = reclaimed(stage, claims, together)
    if not done and snapshot.running(claims[lab.name]):
        done, snapshot = reached(stage, claims, number * (stage.grace + CYCLE + 5))
    starts = sorted(job.start for job in snapshot.running(claims[lab.name]) if job.start)
    stage.cancel(*claims.values())
    stage.earlier.claims = {}
    if not done:
        return broken(tried, some(lacking(snapshot, claims)))
    apart = starts[-1] - starts[0]
    if apart <= (stage.grace + _SETTLES) * stage.twin.pace():
        return kept(tried, f"all started within {apart:.0f} s of each other")
    happened = f"Slurm made room for one task at a time: the last started {apart:.0f} s after the first"
    return Verdict(tried, f"{happened}, here with a grace time of {stage.grace} s", "void")


def _arrays(expected: Expected) -> str | None:
    return with_loans(expected) or (None if any(lab.cap > 1 for lab in expected.labs) else "every cap is one GPU")


ARRAY = Promise(
    "reclaim-array",
    "The tasks of a lab's array get their GPUs back in parallel",
    ("SKY-036",),
    _arrays,
    _try_array,
)
ALL = Promise(
    "reclaim-all",
    "All labs get their caps back, even if all need them at once",
    ("SKY-036", "SKY-121"),
    with_loans,
    _try_all,
)
REQUEUE = Promise(
    "requeue",
    "A preempted job runs again later. A job that cannot be requeued is ended, and its output says why",
    ("SKY-123", "SKY-121"),
    with_loans,
    _try_requeue,
)
RANKS = Promise(
    "overcap-first",
    "Jobs that borrow from other labs are preempted before jobs that borrow from their own lab",
    ("SKY-127",),
    _has_ranks,
    _try_ranks,
)
SPEED = Promise(
    "speed",
    "An owner waits little longer than the grace time",
    ("SKY-036",),
    with_loans,
    _try_speed,
)
