"""Acceptance of nodes before users' jobs start there: checks in Slurm and on the node, and a test job on all GPUs."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.labs import Limits
from gpupool.compile.containers import docker_on, singularity_on
from gpupool.compile.system.devices import stand_in_files
from gpupool.compile.system.driver import CHECK
from gpupool.compile.system.storage import used_for
from gpupool.engine import clock
from gpupool.errors import GpupoolError
from gpupool.node import look
from gpupool.node.look import Kind, Look
from gpupool.remote.controller import Controller, RefusedError
from gpupool.run.observer import Observer
from gpupool.shell import shell_file
from gpupool.slurm.hostlists import fold_set
from gpupool.slurm.nodes import NodeState
from gpupool.slurm.tres import gpus_of_gres
from gpupool.upkeep import drain
from gpupool.upkeep.state import states

_LOOK = shell_file("gpupool.node", "look.sh")
_PROBE = "gpu_probe.py"
_MOUNT_SECONDS = 10
_LOOK_SECONDS = 180.0
_JOB_SECONDS = 300.0
_AT_ONCE = 16


@dataclass(frozen=True)
class Acceptance:
    """The problems of a node, one line each; the node is accepted if there are none."""

    node: str
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether the node may get jobs."""
        return not self.problems


def accept(
    controller: Controller,
    nodes: Sequence[Node],
    work: str,
    reservation: str,
    observer: Observer = Observer(),
) -> Mapping[str, Acceptance]:
    """Check nodes, then run a test job on all GPUs of each; return the result of each node.

    The nodes are drained by `work`, in a `reservation` of root's, which keeps users' jobs away. A node that passes the
    checks is resumed within the reservation for its test job. A node that fails is drained again with its first
    problem as the reason. A node that others have drained stays drained, which is reported as its problem.
    """
    known = states(controller, nodes)

    def looked(node: Node) -> tuple[str, ...]:
        observer.step(node.name, "checking GPUs, mounts and clock")
        return (*registered(node, known.get(node.name)), *_on_node(controller, node))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        problems_of = dict(zip((node.name for node in nodes), pool.map(looked, nodes), strict=True))
    fine = [node for node in nodes if not problems_of[node.name]]
    moved = drain.resume(controller, fine, work)
    problems_of |= {name: (f"it is drained by others: {why}",) for name, why in moved.kept.items()}
    fine = [node for node in fine if node.name in moved.done]

    def test(node: Node) -> tuple[str, ...]:
        observer.step(node.name, "a test job on its GPUs")
        return _by_job(controller, node, f"gpupool_{work}", reservation)

    with _partition(controller, f"gpupool_{work}", fine), ThreadPoolExecutor(_AT_ONCE) as pool:
        problems_of |= dict(zip((node.name for node in fine), pool.map(test, fine), strict=True))
    for node in fine:
        if problems := problems_of[node.name]:
            drain.drain(controller, [node], work, f"failed: {problems[0]}")
    return {node.name: Acceptance(node.name, problems_of[node.name]) for node in nodes}


def registered(node: Node, state: NodeState | None) -> tuple[str, ...]:
    """Return the problems of a node in slurmctld: it does not answer, or has registered with other hardware."""
    if state is None:
        return (f"slurmctld does not know node {node.slurm_name}",)
    if not state.answers or "DOWN" in state.flags:
        return (f"slurmctld gets no answer from it: {'+'.join(sorted(state.flags))} {state.reason}".rstrip(),)
    if state.flags & {"INVALID_REG", "INVAL"}:
        return (f"slurmd registered with other hardware than in slurm.conf: {state.reason}",)
    wrong = []
    if state.cpus != node.cpus:
        wrong.append(f"Slurm has {state.cpus} CPUs, the inventory {node.cpus}")
    if (gpus := gpus_of_gres(state.gres)) != dict(node.gpus):
        wrong.append(f"Slurm has the GPUs {gpus or 'none'}, the inventory {dict(node.gpus) or 'none'}")
    return tuple(wrong)


def _on_node(controller: Controller, node: Node) -> tuple[str, ...]:
    cluster = controller.target.cluster
    programs = [name for name, on in (("docker", docker_on), ("singularity", singularity_on)) if on(cluster, node)]
    items: list[tuple[Kind, str]] = [
        ("service", "slurmd"),
        ("gpus", CHECK),
        *(("device", file) for file in _files(cluster, node)),
        *(("mount", mount.path) for mount in used_for(cluster, node)),
        *(("program", name) for name in programs),
    ]
    began = time.time()
    arguments = look.arguments(_MOUNT_SECONDS, items)
    try:
        output = controller.output_on(node.name, "sh", "-c", _LOOK, "look", *arguments, seconds=_LOOK_SECONDS)
    except GpupoolError as error:
        return (str(error),)
    seen = look.read(output)
    problems = [*faults(seen)]
    if seen.clock is not None and (wrong := clock.fault(seen.clock, began, time.time())):
        problems.append(wrong)
    return tuple(problems)


def faults(seen: Look) -> Iterator[str]:
    """Yield the problems of a node in the output of `look.sh`, one line each."""
    yield from (f"{unit.item} {unit.fault}" for unit in seen.of("service") if unit.fault)
    if missing := [device.item for device in seen.of("device") if device.fault]:
        yield f"no device file {' '.join(missing)}"
    yield from (gpus.fault for gpus in seen.of("gpus") if gpus.fault)
    for mount in seen.of("mount"):
        if mount.fault:
            yield f"{mount.item}: {mount.fault}"
        if not mount.mounted:
            yield f"{mount.item} is not mounted"
    yield from (f"{program.item} {program.fault}" for program in seen.of("program") if program.fault)


def _by_job(controller: Controller, node: Node, partition: str, reservation: str) -> tuple[str, ...]:
    """Return the problems that a test job on all GPUs of a node finds; without GPUs, the job only has to start."""
    cluster = controller.target.cluster
    gres = ",".join(f"gpu:{name}:{count}" for name, count in node.gpus.items())
    qos = _unlimited(cluster)
    wanted = [
        *("srun", "--quiet", "--nodes=1", "--ntasks=1", "--cpus-per-task=1", f"--nodelist={node.slurm_name}"),
        *("--chdir=/", "--time=5", "--job-name=gpupool-test", f"--partition={partition}"),
        *((f"--reservation={reservation}",) if reservation else ()),
        *((f"--qos={qos}",) if qos else ()),
        *((f"--gres={gres}",) if gres else ()),
    ]
    files = _files(cluster, node)
    # not with MIG: a process sees at most one slice, and only the driver knows on how many GPUs the slices are
    cuda = cluster.drivers.gpu == "nvidia" and all(
        device.vendor == "nvidia" and device.card == device.gpu for device in node.devices
    )
    count = node.gpu_count if cuda else len(files)
    probe = ["python3", "-I", "-", "cuda" if cuda else "files", str(count), *files] if gres else ["true"]
    try:
        controller.output_on(node.name, *wanted, *probe, stdin=shell_file(__package__, _PROBE), seconds=_JOB_SECONDS)
    except RefusedError as error:
        return tuple(error.printed.strip().splitlines()) or (f"the test job failed: {error}",)
    except GpupoolError as error:
        return (f"the test job did not run: {error}",)
    return ()


def _files(cluster: Cluster, node: Node) -> list[str]:
    """Return the device files that a node must have; none if only its driver knows them."""
    if cluster.drivers.gpu == "nvidia" and any(device.autodetect for device in node.devices):
        return []
    return list(stand_in_files(node.devices))


def _unlimited(cluster: Cluster) -> str | None:
    """Return a QoS without limits, so that root's job gets all GPUs of a node; None for root's default QoS."""
    return next((name for name, qos in cluster.qos.items() if qos.limits == Limits()), None)


@contextmanager
def _partition(controller: Controller, name: str, nodes: Sequence[Node]) -> Iterator[None]:
    """Create a partition for root's test jobs, and delete it at the end; others may admit only some accounts."""
    if not nodes:
        yield
        return
    about = [f"partitionname={name}", f"nodes={fold_set(node.slurm_name for node in nodes)}"]
    try:
        controller.ask("scontrol", "create", *about, "rootonly=yes", "hidden=yes", "maxtime=10", "state=up")
    except RefusedError:
        # left by a run that was killed; it cannot be deleted while its test job still runs
        controller.ask("scontrol", "update", *about)
    try:
        yield
    finally:
        with suppress(GpupoolError):
            controller.ask("scontrol", "delete", f"partitionname={name}")
