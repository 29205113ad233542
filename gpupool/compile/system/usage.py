"""Nightly jobs of a node (counting, purging, auditing) as plain data, and the files of their timers."""

import json
import posixpath
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from gpupool.cluster.model import Cluster
from gpupool.cluster.mount import Mount
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.template import fill
from gpupool.unix import UNITS, within
from gpupool.wanted import File

SETTINGS = "/etc/gpupool/usage.json"
COMMAND = "/usr/local/sbin/gpupool-purge"

_DAY = 86400
_CALENDAR = {3600: "hourly", _DAY: "daily", 7 * _DAY: "weekly"}
_WORDS = {
    "count": "gpupool: writes the size of each directory",
    "purge": "gpupool: removes files that have not changed for a long time",
    "audit": "gpupool: lists entries that do not belong in labs' spaces",
}


@dataclass(frozen=True)
class Counted:
    """A tree in which each directory down to `levels` gets a report; `seen` is the path that users know."""

    path: str
    levels: int
    seen: str


@dataclass(frozen=True)
class Purged:
    """A tree from which files unchanged for `seconds` are removed; directories of the first `keep` levels stay.

    Nothing in `spared` is removed, wherever it is: the program's own protection, in case a check has missed a mistake.
    Users are warned `warn` seconds before.
    """

    path: str
    seconds: int
    every: int
    keep: int
    spared: tuple[str, ...] = ()
    warn: int = 0


@dataclass(frozen=True)
class Audited:
    """The top of a space, called `name` in lists, and the directories that belong there: name -> uid of the owner."""

    name: str
    path: str
    owners: dict[str, int]


@dataclass(frozen=True)
class Jobs:
    """All jobs of one node; `file` is the name of the report, `every` its interval in seconds."""

    file: str
    every: int
    count: tuple[Counted, ...] = ()
    purge: tuple[Purged, ...] = ()
    audit: tuple[Audited, ...] = ()

    @property
    def intervals(self) -> dict[str, int]:
        """Seconds between two runs, for each kind of job."""
        intervals = {"count": self.every} if self.count else {}
        if self.purge:
            intervals["purge"] = min(rule.every for rule in self.purge)
        return {**intervals, "audit": _DAY} if self.audit else intervals


def jobs_for(cluster: Cluster, node: Node) -> Jobs:
    """Return the jobs of a node; most nodes have none."""
    report = cluster.storage.usage_report
    return Jobs(
        report.file if report else "",
        report.every if report else 0,
        tuple(_counted(cluster, node)) if report else (),
        tuple(_purged(cluster, node)),
        tuple(_audited(cluster, node)),
    )


def worker(cluster: Cluster, mount: Mount) -> tuple[str, str] | None:
    """Return (node, path there) for the jobs on an export; None if no managed node has it.

    It is the fileserver; if gpupool does not manage that, the first head that mounts the export, or else the first
    node. The same applies to exports that the site mounts, unless a node is set to create directories there.
    """
    server = cluster.nodes.get(mount.server)
    if server is None and not mount.by_site:
        return None  # the server is not in this testbed
    if server and server.managed:
        return server.name, mount.path
    nodes = [cluster.nodes[name] for name in mount.nodes if name in cluster.nodes and cluster.nodes[name].managed]
    chosen = next((node for node in nodes if node.has("head")), nodes[0] if nodes else None)
    return (chosen.name, mount.at) if chosen else None


def _here(cluster: Cluster, node: Node, mount: Mount) -> str | None:
    place = worker(cluster, mount)
    return place[1] if place and place[0] == node.name else None


def _counted(cluster: Cluster, node: Node) -> Iterator[Counted]:
    """Yield exports where users work, with a space, a user space or a link; not homes, and not slurmctld's state."""
    for mount in cluster.mounts:
        path = _here(cluster, node, mount)
        if path is None or mount.export == cluster.storage.home.export or mount.holds(cluster.slurm.state):
            continue
        levels = _levels(cluster, mount)
        if levels or any(mount.holds(target) for target in cluster.links.values()):
            yield Counted(path, levels or 1, mount.at)


def _levels(cluster: Cluster, mount: Mount) -> int:
    """Return the depth of users' directories in an export: /scratch/{account}/{user} is two; 0 if there are none."""
    deep = [space.path.removeprefix(mount.at).count("/") for space in _user_spaces(cluster, mount)]
    return max(deep, default=0)


def _user_spaces(cluster: Cluster, mount: Mount) -> Iterator[Any]:
    for space in cluster.storage.user_spaces:
        if mount.holds(space.path.partition("{")[0].rstrip("/")):
            yield space


def _purged(cluster: Cluster, node: Node) -> Iterator[Purged]:
    for rule in cluster.storage.purge:
        mount = max(
            (mount for mount in cluster.mounts if mount.holds(rule.path)), key=lambda mount: len(mount.at), default=None
        )
        if mount is not None:
            top = _here(cluster, node, mount)
            if top is None:
                continue
            path = f"{top}{rule.path.removeprefix(mount.at)}"
            below = [space.path.count("/") - rule.path.count("/") for space in _user_spaces(cluster, mount)]
        elif any(
            within(rule.path, local.path) and node.name in cluster.select(local.where)
            for local in cluster.storage.local
        ):
            path, below = rule.path, []
        else:
            continue
        spared = tuple(dict.fromkeys(_spared(cluster, node, mount)))
        yield Purged(path, rule.not_updated_for, rule.every, max([1, *below]), spared, rule.warn_before or 0)


def _spared(cluster: Cluster, node: Node, own: Mount | None) -> Iterator[str]:
    """Yield what a purge of an export, or of a local directory, spares: other exports, homes, slurmctld's state."""
    for mount in cluster.mounts:
        if own is None or mount.export != own.export:
            yield from [mount.path] if mount.server == node.name else []
            yield from [mount.at] if node.name in mount.clients else []
    homes = posixpath.dirname(cluster.storage.home.path.partition("{")[0])
    for kept in (homes, cluster.slurm.state):
        yield kept
        if own and own.holds(kept) and own.server == node.name:
            yield f"{own.path}{kept.removeprefix(own.at)}"


def _audited(cluster: Cluster, node: Node) -> Iterator[Audited]:
    if cluster.storage.space_rules.extra_dirs != "audit":
        return
    for mount in cluster.mounts:
        path = _here(cluster, node, mount)
        labs = {lab for lab, spaces in cluster.storage.spaces.items() if mount.export in spaces.values()}
        if path is None or not labs:
            continue
        members = [user for user in cluster.users.values() if labs & {user.account, *user.accounts}]
        called = cluster.storage.space_rules.user_dir
        yield Audited(mount.export, path, {called.replace("{user}", user.name): user.uid for user in members})


def settings(jobs: Jobs, cluster: Cluster) -> dict[str, Any]:
    """Return the content of /etc/gpupool/usage.json."""
    return {
        "about": f"Written by gpupool from the inventory of {cluster.name}; "
        "changes made here are undone by the next apply.",
        "file": jobs.file,
        "count": [{"path": rule.path, "levels": rule.levels} for rule in jobs.count],
        "purge": [{key: value for key, value in asdict(rule).items() if key != "warn" or value} for rule in jobs.purge],
        "audit": [asdict(rule) for rule in jobs.audit],
    }


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the program, its settings and a service and a timer for each kind of job; nothing without jobs."""
    jobs = jobs_for(cluster, node)
    if not jobs.intervals:
        return
    yield from program("usage")
    yield File(SETTINGS, json.dumps(settings(jobs, cluster), indent=1) + "\n")
    if jobs.purge:
        yield File(COMMAND, fill("usage-purge", home=HOME, settings=SETTINGS), mode="0755")
    walled = not cluster.drivers.testbed or node.name in cluster.drivers.machines
    for kind, every in jobs.intervals.items():
        values = {"kind": kind, "words": _WORDS[kind], "home": HOME, "settings": SETTINGS}
        service, timer = units_of(kind)
        places = " ".join(f"-{path}" for path in _places(cluster, node, jobs, kind))
        text = fill("usage.service", **values, walled=walled, places=places)
        yield File(service, text)
        yield File(timer, fill("usage.timer", **values, calendar=_CALENDAR.get(every), every=f"{every}s"))


def units_of(kind: str) -> tuple[str, str]:
    """Return the paths of a kind's service and timer."""
    name = {"count": "usage"}.get(kind, kind)
    return f"{UNITS}/gpupool-{name}.service", f"{UNITS}/gpupool-{name}.timer"


#: The timers by kind of job.
TIMERS = {kind: units_of(kind)[1] for kind in _WORDS}


def _places(cluster: Cluster, node: Node, jobs: Jobs, kind: str) -> tuple[str, ...]:
    """Return where a job writes; empty if any of it is on a mount, whose server may not answer."""
    if kind == "audit":
        return ()
    trees = jobs.count if kind == "count" else jobs.purge
    away = [mount.at for mount in cluster.mounts if node.name in mount.clients]
    paths = tuple(tree.path for tree in trees)
    return () if any(within(path, at) for path in paths for at in away) else paths
