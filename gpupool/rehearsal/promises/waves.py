"""Groups of jobs for several promises: the pool full of borrowers, and labs at their caps."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gpupool.rehearsal.expected_claims import JobRequest, requested_gpus, singles
from gpupool.rehearsal.stage import CYCLE, DELAY, QueueSnapshot, Stage, SubmittedJobs

OUTPUT = "/tmp/gpupool-told-%A.out"  # of jobs that cannot run again
CLEARLY = 3  # number of borrowers that are not requeued


def fill_with_borrowers(stage: Stage) -> SubmittedJobs:
    """Fill every GPU with a job of one GPU in the lowest partition, and return these jobs; existing jobs are used.

    CLEARLY of them are not requeued when they are preempted.
    """
    borrowers = stage.earlier.borrowers
    if borrowers and not stage.earlier.claims:
        # Slurm requeues preempted jobs; jobs that cannot run again are replaced
        most = stage.expected.pool
        gone = most - sum(job.gpus for job in stage.look().of(borrowers))
        if gone > 0:
            largest = max(borrowers.requests.values(), key=lambda request: request.count)
            borrowers = stage.earlier.borrowers = borrowers | stage.submit([replace(largest, count=gone)])
        again, _ = stage.until(partial(_full, borrowers, most), stage.requeue + DELAY)
        if again:
            return borrowers
    stage.empty()
    borrowers = stage.earlier.borrowers = stage.submit(_borrowers(stage))
    held, moved = 0, True
    # on a busy machine, jobs start late: wait as long as further jobs start
    while moved and held < stage.expected.pool:
        moved, snapshot = stage.until(partial(_full, borrowers, held + 1), stage.patience(stage.expected.pool - held))
        held = snapshot.gpus(borrowers)
    return borrowers


def _full(borrowers: SubmittedJobs, gpus: int, snapshot: QueueSnapshot) -> bool:
    return snapshot.gpus(borrowers) >= gpus


def borrowers_of(stage: Stage) -> SubmittedJobs:
    """Return the borrowers, or an empty SubmittedJobs."""
    return stage.earlier.borrowers or SubmittedJobs({})


def _borrowers(stage: Stage) -> list[JobRequest]:
    loan, typed = stage.expected.loans[0], stage.expected.typed
    # by type, if jobs must request a type
    left: Counter[str | None] = Counter({None: stage.expected.pool})
    if typed:
        left = Counter(dict(stage.expected.types_in(loan.partition.name)))
    borrowed: list[JobRequest] = []
    for requests in singles(stage.expected).values():
        for request in requests:
            number = min(left[request.gpu_type], request.count)
            borrowed.append(
                replace(request, account=loan.account, partition=loan.partition.name, count=number, owned=False)
            )
            left[request.gpu_type] -= number
    if borrowed:
        borrowed += [replace(borrowed[0], gpu_type=gpu, count=rest) for gpu, rest in left.items() if rest]
    if borrowed:
        # the jobs without requeue are taken from the largest request, as single jobs, so that each has its own output
        largest = max(range(len(borrowed)), key=lambda index: borrowed[index].count)
        number = min(CLEARLY, borrowed[largest].count - 1)
        borrowed[largest] = replace(borrowed[largest], count=borrowed[largest].count - number)
        alone = replace(borrowed[largest], count=1, more=("--no-requeue", f"--output={OUTPUT}", f"--error={OUTPUT}"))
        borrowed = [*[alone] * number, *borrowed]
    return borrowed


def final(submitted: SubmittedJobs) -> list[str]:
    """Return the jobs that cannot run again."""
    return [number for number, request in submitted.requests.items() if request.more]


def claim(stage: Stage, requests: Mapping[str, Sequence[JobRequest]]) -> dict[str, SubmittedJobs]:
    """Submit the claims of several labs at once, and return them by lab."""
    labs = [lab for lab in requests for _ in requests[lab]]
    submitted = stage.submit([request for lab in requests for request in requests[lab]])
    by_lab: dict[str, SubmittedJobs] = {}
    for lab in dict.fromkeys(labs):
        mine = {number: request for number, request in submitted.requests.items() if request.lab == lab}
        refused = [(request, message) for request, message in submitted.refused if request.lab == lab]
        by_lab[lab] = SubmittedJobs(mine, refused, submitted.at)
    stage.earlier.claims.update({lab: by_lab[lab] | stage.earlier.claims.get(lab, SubmittedJobs({})) for lab in by_lab})
    return by_lab


def reached(stage: Stage, claims: Mapping[str, SubmittedJobs], seconds: float) -> tuple[bool, QueueSnapshot]:
    """Wait until every lab holds all that it claimed; return whether it does, and the last snapshot."""
    return stage.until(
        lambda snapshot: all(snapshot.gpus(submitted) >= submitted.gpus for submitted in claims.values()), seconds
    )


def reclaimed(stage: Stage, claims: Mapping[str, SubmittedJobs], seconds: float) -> tuple[bool, QueueSnapshot]:
    """Wait like `reached` as long as jobs are preempted or started, at most three times `seconds`.

    The wait ends after a grace time and a cycle of slurmctld without a preemption or a start.
    """
    borrowers, began = borrowers_of(stage), time.monotonic()
    held = (0, 0)

    def state(snapshot: QueueSnapshot) -> tuple[int, int]:
        return sum(snapshot.gpus(submitted) for submitted in claims.values()), len(snapshot.evicted(borrowers))

    wanted = sum(submitted.gpus for submitted in claims.values())
    while True:
        moved, snapshot = stage.until(partial(_moved, state, held), stage.grace + CYCLE + 5)
        held = state(snapshot)
        if held[0] >= wanted or not moved or time.monotonic() - began > 3 * seconds * stage.twin.pace():
            return held[0] >= wanted, snapshot


def _moved(state: Callable[[QueueSnapshot], tuple[int, int]], before: tuple[int, int], snapshot: QueueSnapshot) -> bool:
    return state(snapshot) != before


def lacking(snapshot: QueueSnapshot, claims: Mapping[str, SubmittedJobs]) -> list[str]:
    """Return a text on each lab that holds less than it claimed, with squeue's reasons."""
    wrong = []
    for lab, submitted in claims.items():
        for request, message in submitted.refused:
            wrong.append(f"{lab}: a job of {request.gpus} GPUs was refused: {message}")
        if snapshot.gpus(submitted) < submitted.gpus:
            wrong.append(
                f"{lab} holds {snapshot.gpus(submitted)} of {submitted.gpus} GPUs ({snapshot.reasons(submitted)})"
            )
    return wrong


def labs_full(stage: Stage) -> dict[str, SubmittedJobs]:
    """Let every lab hold its cap, with no other job running, and return the jobs; existing ones are used."""
    wanted = sum(requested_gpus(requests) for requests in singles(stage.expected).values())
    if sum(submitted.gpus for submitted in stage.earlier.claims.values()) >= wanted:
        _again(stage)
        full, snapshot = reached(stage, stage.earlier.claims, stage.patience(wanted))
        if full and not snapshot.running(borrowers_of(stage)):
            return stage.earlier.claims
    stage.empty()
    claims = claim(stage, singles(stage.expected))
    reached(stage, claims, stage.patience(wanted))
    return claims


def _again(stage: Stage) -> None:
    """Resubmit the claimed jobs that were cancelled."""
    snapshot = stage.look()
    for lab, submitted in list(stage.earlier.claims.items()):
        counts = Counter(job.array for job in snapshot.of(submitted))
        left = {
            number: replace(request, count=counts[number])
            for number, request in submitted.requests.items()
            if counts[number]
        }
        gone = [replace(request, count=missing) for number, request in submitted.requests.items()
                if (missing := request.count - counts[number])]  # fmt: skip
        if gone:
            stage.earlier.claims[lab] = SubmittedJobs(left, submitted.refused, submitted.at) | stage.submit(gone)


def note_waits(stage: Stage, snapshot: QueueSnapshot, batches: Iterable[SubmittedJobs]) -> None:
    """Record how long owners waited beyond the grace time of preempted jobs."""
    for submitted in batches:
        for job in snapshot.running(submitted):
            if job.start is not None:
                stage.earlier.waits.append(max(0.0, job.start - submitted.at - stage.grace))
