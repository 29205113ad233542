"""A lab fills CPUs or memory, up to its limits, with jobs that are not preemptable; all other labs claim their caps."""

from collections.abc import Iterator
from functools import partial
from typing import Literal

from gpupool.cluster.node import Node
from gpupool.rehearsal.expected import Expected, Lab
from gpupool.rehearsal.expected_claims import JobRequest, requested_gpus, singles
from gpupool.rehearsal.promises.base import Promise, Verdict, broken, kept, some, with_labs
from gpupool.rehearsal.promises.waves import claim, lacking, reached, reclaimed
from gpupool.rehearsal.stage import QueueSnapshot, Stage, SubmittedJobs
from gpupool.wording import counted

Resource = Literal["cpu", "mem"]
_WORDS = {"cpu": "CPUs", "mem": "memory"}
_PIECES = 8  # jobs on each node, if one job for the whole node does not start


def _allowed(expected: Expected, lab: Lab, what: Resource) -> int | None:
    """Return the limit of a resource for a lab and its members together; None without a limit."""
    partition = expected.cluster.partitions[lab.partition]
    allowed = [getattr(expected.allowance(user, partition, lab.name), what) for user in lab.members]
    of_people = None if None in allowed else sum(allowed)
    return min((limit for limit in (getattr(lab.group, what), of_people) if limit is not None), default=None)


def neighbour(expected: Expected, what: Resource) -> Lab:
    """Return the lab that may take most of a resource for each GPU of its cap."""

    def harm(lab: Lab) -> tuple[bool, float, int]:
        allowed = _allowed(expected, lab, what)
        return allowed is None, -lab.cap if allowed is None else allowed / lab.cap, lab.cap

    return max(expected.labs, key=harm)


def protected(expected: Expected, what: Resource) -> bool:
    """Return whether the inventory limits this resource for every lab."""
    return all(_allowed(expected, lab, what) is not None for lab in expected.labs)


def _of(node: Node, what: Resource) -> int:
    return node.job_cpus if what == "cpu" else node.job_memory


def _requests(expected: Expected, lab: Lab, what: Resource, pieces: int) -> Iterator[JobRequest]:
    """Yield jobs that fill nodes one by one, beginning where the smallest amount makes the most GPUs unusable."""
    left, cpus_left = _allowed(expected, lab, what), _allowed(expected, lab, "cpu")
    for_each = expected.cluster.scheduler.max_memory.per_cpu if what == "mem" else None
    nodes = [expected.cluster.nodes[name] for name in expected.cluster.partitions[lab.partition].nodes]
    people = [user.name for user in lab.members]
    for turn, node in enumerate(
        sorted((node for node in nodes if node.gpus), key=lambda node: _of(node, what) / node.gpu_count)
    ):
        amount = _of(node, what) if left is None else min(left, _of(node, what))
        cpus = 1
        if for_each:
            # the memory of a job is limited by its CPUs
            most = min(node.job_cpus, node.job_cpus if cpus_left is None else cpus_left)
            amount = min(amount, most * for_each)
            cpus = max(1, amount // pieces // for_each)
            cpus_left = None if cpus_left is None else cpus_left - cpus * pieces
        each = min(amount // pieces, cpus * for_each) if for_each else amount // pieces
        if not each:
            # beyond the lab's limit: these jobs must stay pending
            each, cpus = _of(node, what) // pieces, max(1, node.job_cpus // pieces)
            each = min(each, cpus * for_each) if for_each else each
        elif left is not None:
            left -= each * pieces
        asks = f"--cpus-per-task={each}", "--mem=10M"
        if what == "mem":
            asks = f"--cpus-per-task={cpus}", f"--mem={each}M"
        yield JobRequest(lab.name, people[turn % len(people)], lab.name, lab.partition, pieces, 0,
                   more=(f"--nodelist={node.slurm_name}", *asks))  # fmt: skip


def _fill(stage: Stage, lab: Lab, what: Resource) -> SubmittedJobs:
    """Submit jobs for whole nodes, then replace jobs that do not start with smaller ones."""
    submitted = SubmittedJobs({})
    for pieces in (1, _PIECES):
        new = stage.submit(_requests(stage.expected, lab, what, pieces))
        _, snapshot = stage.until(partial(_settled, new), stage.patience(len(new.requests)))
        submitted = submitted | new
        waits = [job.array for job in snapshot.pending(new)]
        if pieces == 1 and waits:
            stage.cancel(SubmittedJobs({number: new.requests[number] for number in waits}))
    return submitted


def _settled(submitted: SubmittedJobs, snapshot: QueueSnapshot) -> bool:
    return all(job.state == "RUNNING" or job.reason not in ("None", "Priority", "") for job in snapshot.of(submitted))


def _try(stage: Stage, what: Resource) -> Verdict:
    expected = stage.expected
    lab = neighbour(expected, what)
    stage.empty()
    submitted = _fill(stage, lab, what)
    taken = stage.look().running(submitted)
    amount = sum(job.cpus if what == "cpu" else job.mem for job in taken)
    size = f"{amount} CPUs" if what == "cpu" else f"{amount // 1024} GiB of memory"
    others = {name: requests for name, requests in singles(expected).items() if name != lab.name}
    tried = (
        f"{lab.name} took {size} in {counted(len(taken), 'job')} without GPUs, then all other labs claimed their caps"
    )
    claims = claim(stage, others)
    patience = stage.patience(sum(requested_gpus(requests) for requests in others.values()))
    done, snapshot = reached(stage, claims, patience)
    if not done:  # slurmctld may still be starting them
        done, snapshot = reclaimed(stage, claims, patience)
    stage.cancel(submitted)
    total = sum(snapshot.gpus(submitted) for submitted in claims.values())
    if done:
        return kept(tried, f"all got their caps, {total} GPUs")
    wanted = sum(submitted.gpus for submitted in claims.values())
    if protected(expected, what):
        return broken(tried, f"the others got {total} of {wanted} GPUs: {some(lacking(snapshot, claims))}")
    happened = f"the others got {total} of {wanted} GPUs: nothing in the inventory limits a lab's {_WORDS[what]}"
    return Verdict(tried, happened, "void")


def _two_labs(expected: Expected) -> str | None:
    return with_labs(expected) or (None if len(expected.labs) > 1 else "there is only one lab")


CPUS = Promise(
    "neighbour-cpus",
    "No lab can make others' GPUs unusable by taking the CPUs",
    ("SKY-036", "SKY-140"),
    _two_labs,
    lambda stage: _try(stage, "cpu"),
)
MEMORY = Promise(
    "neighbour-memory",
    "No lab can make others' GPUs unusable by taking the memory",
    ("SKY-036",),
    _two_labs,
    lambda stage: _try(stage, "mem"),
)
