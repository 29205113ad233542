"""Report the sizes of directories, from the files that the servers write every week."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME
from gpupool.compile.system.usage import SETTINGS, jobs_for
from gpupool.programs.usage.note import human
from gpupool.run.runner import DeployRunner

if TYPE_CHECKING:
    from gpupool.facts.usage import UsageState


@dataclass(frozen=True)
class Used:
    """A directory by the users' path, on the node that counted it: its size in KiB, time, owner, and account."""

    path: str
    node: str
    kib: int
    size: str
    updated: str
    owner: str
    account: str | None


@dataclass(frozen=True)
class Uncounted:
    """A directory for which the last count wrote no file, by the users' path: its node, its owner, and the reason."""

    path: str
    node: str
    owner: str
    why: str


@dataclass
class UsageReport:
    """The directories of all nodes, the number without a report yet, and why directories could not be read."""

    directories: list[Used] = field(default_factory=list)
    missing: int = 0
    uncounted: list[Uncounted] = field(default_factory=list)
    trouble: dict[str, str] = field(default_factory=dict)


def usage_report(runner: DeployRunner, names: set[str] | None) -> UsageReport:
    """Read the files of all nodes that count, or of the nodes in `names`; unreachable nodes are in `trouble`."""
    target = runner.target
    counting = {node.name for node in target.nodes if jobs_for(target.cluster, node).count}
    if names is not None:
        counting &= names
    if not counting:
        return UsageReport()
    states: dict[str, UsageState | None] = {}

    runner.load()
    from gpupool.engine.current import cluster_and_node
    from gpupool.facts.usage import Usage
    from gpupool.operations.ambient import this_host

    def look() -> None:
        states[cluster_and_node()[1].name] = this_host().get_fact(Usage, home=HOME, settings=SETTINGS)

    done = runner.deploy(look, counting, execute=False)
    done.ensure_not_interrupted()
    reported = UsageReport(trouble=dict(done.failures))
    for name in (node.name for node in target.nodes if node.name in states):
        if name not in reported.trouble:
            add(reported, target.cluster, target.cluster.nodes[name], states[name])
    return reported


def add(usage: UsageReport, cluster: Cluster, node: Node, state: "UsageState | None") -> None:
    """Add the state of one node to the report, or why there is none."""
    if state is None:
        usage.trouble[node.name] = "its file systems did not answer in time"
        return
    if state.absent:
        usage.trouble[node.name] = "the report is not installed yet: run gpupool apply"
        return
    seen = {counted.path: counted.seen for counted in jobs_for(cluster, node).count}
    for top, known in seen.items():
        if top not in state.missing:
            usage.trouble[f"{node.name}:{top}"] = state.trouble.get(top, "no report of it yet: run gpupool apply")
        usage.missing += state.missing.get(top, 0)
        usage.directories += _used(cluster, node, state, top, known)
        here = [entry for entry in state.left if entry.top == top]
        usage.uncounted += [
            Uncounted(f"{known}/{entry.path}".rstrip("/"), node.name, entry.owner, entry.why) for entry in here
        ]


def _used(cluster: Cluster, node: Node, state: "UsageState", top: str, known: str) -> Iterator[Used]:
    for directory in state.directories:
        if directory.top == top:
            user = cluster.users.get(directory.owner)
            path, account = f"{known}/{directory.path}", user.account if user else None
            yield Used(
                path, node.name, directory.kib, human(directory.kib), directory.updated, directory.owner, account
            )
