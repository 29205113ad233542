"""Retire nodes: drain them until their jobs end, then remove them from Slurm, their files, and their entries."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpupool.cluster.edit.files import Draft
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.names import links as base_links
from gpupool.errors import GpupoolError, UsageError
from gpupool.facts.host_keys import KNOWN
from gpupool.facts.munge import KEY as MUNGE_KEY
from gpupool.joining import host_key, written
from gpupool.joining.other_nodes import concerned, later
from gpupool.joining.steps import Commands
from gpupool.joining.written import Original
from gpupool.remote.controller import Controller
from gpupool.run.observer import Observer
from gpupool.run.runner import DeployRunner
from gpupool.target import Target, target_of
from gpupool.upkeep import drain
from gpupool.upkeep.state import states

WORK = "retiring"


@dataclass(frozen=True)
class Leaving:
    """The plan of a retirement: the leaving nodes, the inventory without them, and the other nodes to apply."""

    before: Target
    after: Target
    draft: Draft
    nodes: tuple[Node, ...]
    others: tuple[str, ...]


@dataclass(frozen=True)
class Retired:
    """The result; `left` has the failure of each node where daemons or files could not be removed."""

    names: tuple[str, ...]
    commands: Mapping[str, int]
    left: Mapping[str, str]
    later: Mapping[str, int]


def prepare(target: Target, original: Original, selector: str, *, on: str) -> Leaving:
    """Return the plan to retire nodes. UsageError, or BadInventoryError with every error of the inventory without them.

    `original` is the inventory of the target; `on` is as in `target_of`.
    """
    cluster = target.cluster
    try:
        names = sorted(cluster.select(selector), key=list(cluster.nodes).index)
    except ValueError as error:
        raise UsageError(str(error)) from None
    nodes = tuple(cluster.nodes[name] for name in names)
    if not nodes:
        raise UsageError(f"{selector!r} selects no node")
    if others := [node.name for node in nodes if set(node.roles) != {"compute"}]:
        raise UsageError(f"{', '.join(others)}: only nodes whose only role is compute can be retired")
    if elastic := [node.name for node in nodes if node.elastic]:
        raise UsageError(f"{', '.join(elastic)}: an elastic node cannot be retired; remove its entry and apply")
    made = written.without_nodes(original, names)
    after = target_of(made.cluster, original.inventory, on)
    return Leaving(target, after, made.draft, nodes, concerned(cluster, after.cluster))


class Retirement:
    """One retirement; `controller` and `runner` reach the nodes of `leaving.before`."""

    def __init__(self, controller: Controller, runner: DeployRunner, observer: Observer, leaving: Leaving) -> None:
        self._controller, self._runner, self._observer, self._leaving = controller, runner, observer, leaving
        self._commands = Commands()

    def run(self) -> Retired:
        """Retire the nodes; GpupoolError if it cannot continue. The next run then continues."""
        leaving, names = self._leaving, [node.name for node in self._leaving.nodes]
        self._out_of_slurm()
        left = self._depart()
        leaving.draft.write()
        for node in leaving.nodes:
            if node.managed and node.address:
                host_key.pin(host_key.pins_of(self._controller, node.name), ())
        missing = later(leaving.before.cluster, leaving.after.cluster, {*leaving.others, *names})
        return Retired(tuple(names), self._commands.sent, left, missing)

    def _out_of_slurm(self) -> None:
        leaving = self._leaving
        known = states(self._controller, leaving.nodes)
        in_slurm = [node for node in leaving.nodes if node.name in known]
        # a node that others have drained keeps their reason: it gets no jobs either
        drain.drain(self._controller, in_slurm, WORK, "leaves the cluster")
        drain.wait_until_empty(self._controller, in_slurm, self._observer)
        self._commands.count(self._runner.to(leaving.after).apply(leaving.others)).ensure_ok()
        if still := sorted(states(self._controller, leaving.nodes)):
            raise GpupoolError(
                f"slurmctld still knows {', '.join(still)}: run `gpupool apply`, then this command again"
            )

    def _depart(self) -> dict[str, str]:
        """Stop daemons and remove files on the nodes; return the failures by node, because a node may be broken."""
        self._runner.load()
        from gpupool.engine.current import cluster_and_node
        from gpupool.operations import departure, files

        def leave() -> None:
            stays = _stays(*cluster_and_node())
            departure.daemons(name="Daemons", units=["slurmd.service", "munge.service"], secrets=[MUNGE_KEY])
            files.removed(name="Removed files", wanted=stays, keep_below="/nonexistent")
            files.removed_at_end(name="Files left behind", wanted=stays)

        names = {node.name for node in self._leaving.nodes} & {node.name for node in self._leaving.before.nodes}
        report = self._commands.count(self._runner.deploy(leave, names, execute=True))
        report.ensure_not_interrupted()
        return report.failures


def _stays(cluster: Cluster, node: Node) -> list[str]:
    """Return the files that stay so that an admin can still log in: names, sshd's settings, the firewall."""
    own = [file.path for role in ("base", "ssh", "firewall") for file in files_of(cluster, node, role)]
    return [*own, *base_links(cluster), KNOWN]
