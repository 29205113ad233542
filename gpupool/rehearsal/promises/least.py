"""The minimum request of a job: a job below the minimum of a partition never runs there."""

from collections.abc import Iterator

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.promises.base import Promise, Verdict, verdict
from gpupool.rehearsal.stage import QueueSnapshot, Stage, SubmittedJobs
from gpupool.wording import counted

_WAITS = ("QOSMin", "InvalidQOS")


def _requests(expected: Expected) -> Iterator[JobRequest]:
    """Yield a job for each partition with a minimum of GPUs; it requests one GPU less."""
    for partition in (*expected.owner_partitions, *expected.preemptable):
        least = partition.limits.per_job_least.gpu
        who = next(iter(expected.people(partition)), None)
        if least and who:
            user, account = who
            kind = expected.type_in(partition.name) if least > 1 else None
            gpus, more = least - 1, ("--mem=10M",)
            yield JobRequest(user.account, user.name, account, partition.name, 1, gpus, gpu_type=kind, more=more)


def _there(snapshot: QueueSnapshot, submitted: SubmittedJobs) -> list[str]:
    return [
        job.partition for job in snapshot.running(submitted) if job.partition == submitted.requests[job.array].partition
    ]


def _try(stage: Stage) -> Verdict:
    stage.empty()
    requests = list(_requests(stage.expected))
    submitted = stage.submit(requests)
    _, snapshot = stage.steady(lambda snapshot: not _there(snapshot, submitted), stage.patience(len(requests)))
    wrong = [f"{partition} ran a job with less" for partition in _there(snapshot, submitted)]
    for job in snapshot.pending(submitted):
        if job.partition == submitted.requests[job.array].partition and not job.reason.startswith(_WAITS):
            wrong.append(f"{job.partition}: pending for another reason ({job.reason})")
    stage.cancel(submitted)
    tried = f"{counted(len(requests), 'job')} with one GPU less than the minimum of their partition"
    others = len(submitted.requests)
    return verdict(
        tried,
        wrong,
        f"{len(submitted.refused)} were refused, {others} are pending because of it or were moved",
    )


def _not_made_because(expected: Expected) -> str | None:
    return None if any(_requests(expected)) else "no partition has a minimum for jobs"


LEAST = Promise("least", "No job runs in a partition if it requests less than the minimum", (), _not_made_because, _try)
