"""Every lab can use its cap, and not one GPU more."""

from collections.abc import Mapping, Sequence
from functools import partial

from gpupool.rehearsal.expected_claims import JobRequest, one_more, requested_gpus, singles, whole_nodes, with_cpus
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, kept, some, with_labs
from gpupool.rehearsal.promises.waves import claim, lacking, reached
from gpupool.rehearsal.stage import QueueSnapshot, Stage, SubmittedJobs
from gpupool.wording import counted

_STOPPED = ("Assoc", "QOS")  # prefixes of squeue's reasons for limits


def _try_cap(stage: Stage) -> Verdict:
    expected = stage.expected
    requests, labs = singles(expected), {lab.name: lab for lab in expected.labs}
    tried = f"jobs of one GPU with default memory: {counted(len(labs), 'lab')}, each up to its cap and one job beyond"
    stage.empty()
    names = list(labs)
    above = SubmittedJobs({})
    for group in (names[0::2], names[1::2]):
        claims = claim(stage, {name: requests[name] for name in group})
        done, snapshot = reached(stage, claims, stage.patience(sum(requested_gpus(requests[name]) for name in group)))
        if not done:
            return broken(tried, some(lacking(snapshot, claims)))
        stage.cancel(above)
        above = stage.submit([one_more(expected, labs[name]) for name in group])
        _make_room(stage, len(group), names[0::2])
        stopped, snapshot = stage.until(partial(_all_stopped, above), stage.patience(len(group)))
        if not stopped:
            return broken(tried, some(_over(snapshot, above)) or "the jobs above the caps were not seen")
        stage.steady(partial(_none_runs, above), 1)
        if running := stage.look().running(above):
            return broken(tried, some(f"{job.account} runs one job beyond its cap" for job in running))
    stage.cancel(above)
    total = sum(submitted.gpus for submitted in stage.earlier.claims.values())
    short = [f"{lab.name} has {counted(len(lab.members), 'member')}, "
             f"whose own limits allow {possible} of {lab.cap} GPUs"
             for lab in expected.labs if (possible := requested_gpus(requests[lab.name])) < lab.cap]  # fmt: skip
    happened = f"all held their caps, {total} GPUs together; each further job is pending ({snapshot.reasons(above)})"
    return kept(tried, "; ".join([happened, *short]))


def _make_room(stage: Stage, gpus: int, groups: Sequence[str]) -> None:
    """Cancel jobs of a lab until `gpus` GPUs are idle, so that only its cap can keep a job above the cap pending."""
    idle = stage.look()
    held = sum(job.gpus for job in idle.jobs if job.state == "RUNNING")
    need = gpus - (stage.expected.pool - held)
    lab = max(groups, key=lambda name: stage.earlier.claims[name].gpus)
    jobs = idle.running(stage.earlier.claims[lab])[: max(0, need)]
    if jobs:
        stage.twin.run(f"scancel {' '.join(job.id for job in jobs)}")


def _none_runs(submitted: SubmittedJobs, snapshot: QueueSnapshot) -> bool:
    return not snapshot.running(submitted)


def _all_stopped(submitted: SubmittedJobs, snapshot: QueueSnapshot) -> bool:
    jobs = snapshot.of(submitted)
    return len(jobs) == len(submitted.requests) and all(
        job.state == "PENDING" and job.reason.startswith(_STOPPED) for job in jobs
    )


def _over(snapshot: QueueSnapshot, above: SubmittedJobs) -> list[str]:
    wrong = [f"{request.lab}: {message}" for request, message in above.refused]
    for job in snapshot.of(above):
        if job.state != "PENDING":
            wrong.append(f"{job.account} runs one job beyond its cap")
        elif not job.reason.startswith(_STOPPED):
            wrong.append(f"the job of {job.account} above its cap is pending for another reason: {job.reason}")
    return wrong


def _all_reach(stage: Stage, tried: str, *rounds: Mapping[str, Sequence[JobRequest]]) -> Verdict:
    stage.empty()
    for requests in rounds:
        claims = claim(stage, requests)
        done, snapshot = reached(
            stage, claims, stage.patience(sum(len(submitted.requests) for submitted in claims.values()) * 8)
        )
        if not done or any(submitted.refused for submitted in claims.values()):
            return broken(tried, some(lacking(snapshot, claims)))
    held: dict[str, int] = {lab: stage.look().gpus(submitted) for lab, submitted in stage.earlier.claims.items()}
    over = [f"{lab.name} holds {held[lab.name]} GPUs, its cap is {lab.cap}" for lab in stage.expected.labs
            if held.get(lab.name, 0) > lab.cap]  # fmt: skip
    if over:
        return broken(tried, some(over))
    return kept(tried, f"all held them at once, {sum(held.values())} GPUs")


def _try_cpus(stage: Stage) -> Verdict:
    per = ", ".join(f"{cpus} on {gpu}" for gpu, cpus in stage.expected.cpus_per_gpu.items() if cpus)
    tried = f"every lab's cap in jobs of one GPU with its CPUs ({per})"
    return _all_reach(stage, tried, with_cpus(stage.expected))


def _try_nodes(stage: Stage) -> Verdict:
    first, rest = whole_nodes(stage.expected)
    jobs = sum(request.count for requests in first.values() for request in requests)
    tried = f"every lab's cap in jobs for all GPUs of a node ({counted(jobs, 'job')}), then the rest of the caps"
    return _all_reach(stage, tried, first, rest)


CAP = Promise(
    "cap",
    "Every lab can use as many GPUs at once as it contributed, and no more",
    ("SKY-034", "SKY-035", "SKY-107", "SKY-187"),
    with_labs,
    _try_cap,
)
CPUS = Promise(
    "cap-cpus",
    "Every lab's GPUs can be used with the recommended number of CPUs each",
    ("SKY-132", "SKY-142"),
    with_labs,
    _try_cpus,
)
NODES = Promise(
    "cap-nodes",
    "Every lab can use its GPUs as whole nodes",
    ("SKY-034", "SKY-136"),
    with_labs,
    _try_nodes,
)
