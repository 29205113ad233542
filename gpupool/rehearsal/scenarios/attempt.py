"""The steps of a site's own promise, executed in order on an empty cluster."""

import shlex
from collections.abc import Sequence

from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.promises.base import Verdict, broken, kept
from gpupool.rehearsal.scenarios.data import Expect, Number, Step, Submit
from gpupool.rehearsal.stage import QueueSnapshot, Stage, SubmittedJobs
from gpupool.wording import counted


def attempt(stage: Stage, steps: Sequence[Step]) -> Verdict:
    """Execute the steps and return the verdict; stop at the first step whose expectation is not met."""
    stage.empty()
    named: dict[str, SubmittedJobs] = {}
    last = SubmittedJobs({})
    asked: list[str] = []
    seen: list[str] = []
    for number, step in enumerate(steps, 1):
        if step.submit:
            request = _request(stage, step.submit)
            last = stage.submit([request])
            asked.append(f"{step.submit.user}: {counted(request.count, 'job')} {step.submit.options}".strip())
            if step.submit.name:
                named[step.submit.name] = last
        if step.expect:
            submitted = named[step.expect.of] if step.expect.of else last
            met, happened = _comes_true(stage, step.expect, submitted)
            seen.append(happened)
            if not met:
                return broken("; ".join(asked), f"step {number}: {happened}")
        if step.cancel:
            stage.cancel(named[step.cancel])
    return kept("; ".join(asked), "; ".join(seen) or "nothing was expected")


def _request(stage: Stage, submit: Submit) -> JobRequest:
    user = stage.expected.cluster.users[submit.user]
    return RequestWithOwnOptions(
        user.account, submit.user, "", "", _jobs(stage, submit.count), 0, more=tuple(shlex.split(submit.options))
    )


def _jobs(stage: Stage, number: Number) -> int:
    """Return the number of jobs; `pool` is the number of the cluster's GPUs."""
    return stage.expected.pool if number == "pool" else number


class RequestWithOwnOptions(JobRequest):
    """Jobs with a site's own options and nothing else."""

    @property
    def options(self) -> tuple[str, ...]:
        """Return the site's options for sbatch; the stage adds the number of jobs."""
        return self.more


def _comes_true(stage: Stage, expect: Expect, submitted: SubmittedJobs) -> tuple[bool, str]:
    if expect.refused is not None:
        refusal = "; ".join(message for _, message in submitted.refused)
        return bool(refusal) and expect.refused in refusal, f"refused: {refusal}" if refusal else "sbatch accepted it"
    if submitted.refused:
        return False, f"refused: {submitted.refused[0][1]}"

    if expect.running is not None:
        expect = expect.model_copy(update={"running": _jobs(stage, expect.running)})

    def holds(snapshot: QueueSnapshot) -> bool:
        return _holds(snapshot, expect, submitted)

    met, snapshot = stage.until(holds, expect.within)
    if met:
        met, snapshot = stage.steady(holds, 1)
    waits = snapshot.pending(submitted)
    requeued = [job for job in snapshot.of(submitted) if job.restarts]
    parts = [f"{len(snapshot.running(submitted))} running"]
    if waits:
        parts.append(f"{len(waits)} pending ({snapshot.reasons(submitted)})")
    if requeued:
        parts.append(f"{len(requeued)} requeued")
    return met, ", ".join(parts)


def _holds(snapshot: QueueSnapshot, expect: Expect, submitted: SubmittedJobs) -> bool:
    waits = snapshot.pending(submitted)
    if expect.running is not None and len(snapshot.running(submitted)) != expect.running:
        return False
    if expect.requeued is not None and sum(job.restarts > 0 for job in snapshot.of(submitted)) != expect.requeued:
        return False
    if expect.pending is None:
        return True
    reason = expect.pending.reason or ""
    return len(waits) == expect.pending.count and all(reason in job.reason for job in waits)
