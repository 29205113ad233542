"""Refuse a new slurm.conf that would end jobs: Slurm ends the jobs of removed partitions and nodes.

Tested on 24.11 and 26.05, with `scontrol reconfigure` and with a restart. Jobs end if their partition is removed (also
pending jobs), if their node is removed, or if its CPUs, cores or GPUs change. slurmctld gives a job cores of the node
and counts them over all sockets (valid_job_resources() in job_resources.c), so other sockets with as many cores are no
such change. Jobs go on if a node only leaves their partition, a time limit gets shorter, a partition no longer allows
their account or QoS, or memory, features or SelectTypeParameters change. New steps of a running job fail if a private
/tmp is switched on or off (job_container.conf(5)). If SlurmdSpoolDir changes, slurmd finds no running step: scancel
and time limits end its job in Slurm alone, its processes run on, and the next job gets the same GPUs (seen on 24.11).
`gpupool.operations.trial` tests the files with slurmctld itself, just before they are put.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from weakref import WeakSet

from gpupool.effect import Effect
from gpupool.facts.files import Paths
from gpupool.facts.queue import Job, NodeShape, Queue, QueueState
from gpupool.facts.service import Unit
from gpupool.facts.step_sockets import StepSockets
from gpupool.operations import diffs
from gpupool.operations.ambient import executing, run_state, this_host
from gpupool.operations.files import sha256_of
from gpupool.operations.frame import Refused, look, operation
from gpupool.operations.service import stale
from gpupool.wanted import File, SlurmNode
from gpupool.wording import counted, shortened

_SHOWN = 3  # jobs of each partition or node that a message lists
_refused: WeakSet[Any] = WeakSet()  # hosts on which this run would end jobs


@operation
def refuse_job_loss(
    files: list[File], partitions: list[str], nodes: list[SlurmNode], idle: list[str] | None = None, spool: str = ""
) -> None:
    """Fail if running or pending jobs need partitions or nodes that slurm.conf removes or changes.

    `partitions` and `nodes` are all that it will have; a renamed one is new. Call it before the `files` are put, on
    each host that gets them. slurmctld is not asked if it already runs with these files (so a partition that an admin
    created by hand is kept), and nothing is refused if no slurmctld answers.

    `idle` are paths, wanted or not, whose contents may only change while no job runs, and `spool` is the SlurmdSpoolDir
    of the files, which may not change either.
    """
    paths = [file.path for file in files]
    unit = this_host().get_fact(Unit, unit="slurmctld.service", paths=paths)
    if not _differ(files) and unit is not None and unit.invocation and not stale(unit, {}, paths):
        this_host().noop("slurmctld runs with these files")
        return
    state = look(Queue, "the jobs from slurmctld")
    losses = list(_losses(state, partitions, {node.name: _shape(node) for node in nodes}))
    running = [job for job in state.jobs if job.running]
    if running and spool and state.spool not in ("", spool):
        losses.append((f"SlurmdSpoolDir changes from {state.spool} to {spool}", running, "nodename=ALL reason=spool"))
    if idle and running:
        sums = {file.path: sha256_of(file.text) for file in files}
        losses += [(f"{path} changes", running, "nodename=ALL reason=tmp") for path in _changed(idle, sums)]
    if losses:
        count = len({job.id for _, jobs, _ in losses for job in jobs})
        lost = "; ".join(f"{what}: {_named(jobs)}" for what, jobs, _ in losses[:3])
        more = f"; and {len(losses) - 3} more" if len(losses) > 3 else ""
        drain = losses[0][2]
        _refused.add(this_host())
        diffs.costs("jobs", {"jobs": Effect.drain(_job(job) for _, jobs, _ in losses for job in jobs)})
        raise Refused(
            f"Slurm would end {count} job{'s' * (count != 1)}: {lost}{more}. First `scontrol update {drain} "
            "state=drain`, wait for its running jobs, and move or cancel the pending ones"
        )
    this_host().noop(
        "no job loses its partition or node" if state.answers else "no slurmctld answers: no jobs to protect"
    )


@operation
def refuse_other_spool(node: str, spool: str) -> None:
    """Refuse a node with steps that a slurmd with the SlurmdSpoolDir `spool` would not find; `node` is its NodeName."""
    found = look(StepSockets, "the steps of jobs on this node")
    lost = {directory: jobs for directory, jobs in found.items() if directory != spool.rstrip("/")}
    if lost:
        jobs = sorted({job for of in lost.values() for job in of}, key=lambda job: (len(job), job))
        diffs.costs("jobs", {"jobs": Effect.drain(jobs)})
        raise Refused(
            f"slurmd would no longer find {counted(len(jobs), 'job')}, and their processes would outlive them: "
            f"{shortened(jobs)}: their steps are in {', '.join(lost)}, not in {spool}. Set slurm.spool to that "
            f"directory, or `scontrol update nodename={node} reason=spool state=drain` and wait for these jobs"
        )
    this_host().noop("slurmd finds the steps of all jobs on this node")


@operation
def refuse_other_shape(node: SlurmNode, first: str) -> None:
    """Refuse to change a node without the controller `first`, if slurmctld has other CPUs, cores or GPUs for this node.

    A health check with the new number of GPUs would find the node in order and return it to service, although Slurm
    still allocates GPUs that the node lacks. Nothing is refused if no slurmctld answers, or it does not know the node.
    """
    known = look(Queue, "the nodes from slurmctld").nodes.get(node.name)
    wanted = _shape(node)
    if known and (known.cpus, known.gpus) != (wanted.cpus, wanted.gpus):
        now, then = (f"{shape.cpus} CPUs and {_gpus(shape)}" for shape in (known, wanted))
    elif known and _other_cores(known, wanted):
        now, then = (f"{shape.cpus} CPUs in {shape.cores} cores" for shape in (known, wanted))
    else:
        this_host().noop("slurmctld has these CPUs and GPUs, or does not know the node yet")
        return
    raise Refused(
        f"slurmctld has {now} for this node, and the inventory {then}: apply to {first} as well, or without --limit"
    )


@operation
def costs_no_jobs(first: str, files: list[File]) -> None:
    """Refuse new `files` if `refuse_job_loss` has refused on the host `first` in this run.

    Otherwise all other nodes would get files without a node that still has jobs.
    """
    state = run_state()
    host = state.inventory.get_host(first, default=None) if executing() else None
    if host is not None and host in _refused and _differ(files):
        raise Refused(f"{files[0].path} and everything else is not changed: the change would end jobs on {first}")
    this_host().noop(f"{first} loses no job")


@operation
def require_accepted_by(first: str, files: list[File]) -> None:
    """Refuse new `files` if the host `first`, which tests them, was reached and has failed in this run.

    So all hosts keep the same files. A host `first` that cannot be reached does not stop the others.
    """
    state = run_state()
    host = state.inventory.get_host(first, default=None)
    if host is not None and host in state.failed_hosts and host.connected:
        present = this_host().get_fact(Paths, paths=[file.path for file in files], shown={})
        if present is None or any(
            file.path not in present or present[file.path].sha256 != sha256_of(file.text) for file in files
        ):
            raise Refused(f"{files[0].path} is not changed: {first}, which tests the new one, has failed in this run")
    this_host().noop(f"{first} accepts the files")


def _differ(files: list[File]) -> bool:
    sums = {file.path: sha256_of(file.text) for file in files}
    present = this_host().get_fact(Paths, paths=list(sums), shown=sums)
    return present is None or any(
        path not in present or present[path].sha256 != sha256 for path, sha256 in sums.items()
    )


def _changed(paths: list[str], sums: Mapping[str, str]) -> list[str]:
    present = look(Paths, "the files of Slurm", paths=paths, shown={})
    now = {path: present[path].sha256 if path in present else None for path in paths}
    return [path for path in paths if now[path] != sums.get(path)]


def _losses(
    state: QueueState, partitions: Iterable[str], nodes: dict[str, NodeShape]
) -> Iterator[tuple[str, list[Job], str]]:
    """Yield each removal or change that affects jobs: a message, the jobs, and the arguments of scontrol to drain."""
    for name in state.partitions:
        jobs = [job for job in state.jobs if name in job.partitions]
        if name not in partitions and jobs:
            yield f"partition {name} will be removed", jobs, f"partitionname={name}"
    for name, shape in state.nodes.items():
        drain = f"nodename={name} reason=gone"
        if name not in nodes:
            if jobs := [job for job in state.jobs if name in job.nodes]:
                yield f"node {name} will be removed", jobs, drain
        elif jobs := [job for job in state.jobs if job.running and name in job.nodes]:
            if shape.cpus != nodes[name].cpus:
                yield f"node {name} changes from {shape.cpus} to {nodes[name].cpus} CPUs", jobs, drain
            elif _other_cores(shape, nodes[name]):
                yield f"node {name} changes from {shape.cores} to {nodes[name].cores} cores", jobs, drain
            elif shape.gpus != nodes[name].gpus:
                yield f"node {name} changes from {_gpus(shape)} to {_gpus(nodes[name])}", jobs, drain


def _shape(node: SlurmNode) -> NodeShape:
    return NodeShape(node.cpus, node.cores, dict(node.gpus))


def _other_cores(known: NodeShape, wanted: NodeShape) -> bool:
    return known.cores not in (0, wanted.cores)


def _gpus(shape: NodeShape) -> str:
    return " and ".join(f"{count} {kind}".strip() for kind, count in shape.gpus.items()) or "no GPUs"


def _named(jobs: list[Job]) -> str:
    jobs = sorted(jobs, key=lambda job: (not job.running, len(job.id), job.id))
    parts = [f"{_job(job)} {'is running' if job.running else 'is pending'}" for job in jobs[:_SHOWN]]
    return ", ".join(parts) + (f" and {len(jobs) - _SHOWN} more" if len(jobs) > _SHOWN else "")


def _job(job: Job) -> str:
    return f"{job.id} of {job.user}"
