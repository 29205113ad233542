"""Files of a fileserver: its exports, and timers for ZFS snapshots, scrubs and health."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME
from gpupool.compile.system import exports
from gpupool.compile.system.zfs import datasets_for, pools_for
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

SNAPSHOTS = "gpupool-snapshots"
SCRUB = "gpupool-scrub"
HEALTH = "gpupool-zfs-health"

_DAYS = {"weekly": 7, "monthly": 30, "quarterly": 91}


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the exports and the timers."""
    yield from exports.files(cluster, node)
    yield from timers(cluster, node)


def timers(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield timers that take snapshots, scrub pools and check their health; nothing on a node without pools."""
    if pools := pools_for(cluster, node):
        schedule = {dataset.name: dataset.snapshots for dataset in datasets_for(cluster, node) if dataset.snapshots}
        yield from snapshot_files(schedule)
        yield from scrub_files({pool.name: pool.scrub for pool in pools if pool.scrub})
        yield from health_files([pool.name for pool in pools])


def snapshot_files(schedule: Mapping[str, Mapping[str, int]]) -> list[File]:
    """Return the files for snapshots; `schedule`: dataset -> kind (hourly, daily, weekly, monthly) -> count."""
    rows = [(name, kind, str(keep)) for name, kinds in schedule.items() for kind, keep in kinds.items()]
    description = "Snapshots of ZFS datasets that are due"
    return _files(SNAPSHOTS, "zfs-snapshots", description, "hourly", 60, _table("snapshots", rows))


def scrub_files(pools: Mapping[str, str]) -> list[File]:
    """Return the files for scrubs; `pools`: pool -> weekly, monthly or quarterly."""
    rows = [(pool, str(_DAYS[often])) for pool, often in pools.items()]
    description = "Scrubs of ZFS pools that are due"
    return _files(SCRUB, "zfs-scrub", description, "*-*-* 00:30", 3600, _table("scrubs", rows))


def health_files(pools: Collection[str]) -> list[File]:
    """Return the files for the health check of these pools, every ten minutes."""
    return _files(HEALTH, "zfs-health", "Health of ZFS pools", "*:0/10", 30, None, tuple(pools))


def _table(name: str, rows: Sequence[tuple[str, ...]]) -> File:
    lines = ["# Written by gpupool; changes made here are undone by the next apply.", *("\t".join(row) for row in rows)]
    return File(f"/etc/gpupool/{name}.conf", "\n".join(lines) + "\n")


def _files(
    unit: str,
    script: str,
    description: str,
    when: str,
    spread: int,
    table: File | None,
    given: tuple[str, ...] = (),
) -> list[File]:
    command = shlex.join(["/bin/sh", f"{HOME}/{script}", *([table.path] if table else []), *given])
    return [
        File(f"{HOME}/{script}", fill(script)),
        *([table] if table else []),
        File(f"{UNITS}/{unit}.service", fill("oneshot.service", description=description, command=command)),
        File(
            f"{UNITS}/{unit}.timer",
            fill("oneshot.timer", description=description, when=when, spread=spread),
        ),
    ]
