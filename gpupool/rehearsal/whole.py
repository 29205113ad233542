"""A whole rehearsal: start a twin, test the requested promises, and always remove the twin."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.cluster.near import misspelt
from gpupool.engine.progress import Progress
from gpupool.errors import UsageError
from gpupool.rehearsal import run
from gpupool.rehearsal.promises import PROMISES
from gpupool.rehearsal.promises.base import Promise
from gpupool.rehearsal.report.data import Rehearsed, Setting, caps_of
from gpupool.rehearsal.scenarios.promises import promises
from gpupool.rehearsal.twin import Twin
from gpupool.rehearsal.twin.compiled import of_version
from gpupool.rehearsal.twin.differences.table import differences, place_of
from gpupool.rehearsal.twin.image import runnable
from gpupool.slurm.releases import Known, Tested

_TICK_SECONDS = 0.5


@dataclass(frozen=True)
class Request:
    """A requested rehearsal: the cluster, the version of Slurm to run, and the promises to test.

    `configured` is slurm.version. `only` has keys of promises, or is empty for all; `own` are the site's promises.
    `change` is a file merged over the inventory. With `keep`, the twin is not removed.
    """

    cluster: Cluster
    version: Tested
    configured: Known
    change: Path | None
    only: frozenset[str]
    own: Sequence[Promise]
    keep: bool

    @property
    def promises(self) -> list[Promise]:
        """Return the promises to test, including the site's own."""
        return [promise for promise in (*PROMISES, *self.own) if not self.only or promise.key in self.only]


def request(inventory: Path, change: Path | None, slurm: Tested | None, only: str | None, keep: bool) -> Request:
    """Load the inventory and check all options, before a twin is started.

    `slurm` None is the inventory's version, and `only` has keys separated by commas. UsageError for an unknown key, or
    a version that a twin cannot run, or a gres.conf of the site's own; BadInventoryError if the inventory has errors.
    """
    cluster = load(inventory, change).in_service()  # promises include GPUs that are out of service for a while
    if "gpus" in cluster.slurm.left:
        message = "a rehearsal needs stand-ins for GPUs in gres.conf, which slurm.left leaves to the site"
        raise UsageError(f"{message}: take the step gpus first")
    configured = cluster.slurm.version
    version = slurm or runnable(configured)
    cluster = of_version(cluster, version)
    own = promises(inventory, cluster)
    keys = [promise.key for promise in (*PROMISES, *own)]
    wanted = frozenset(filter(None, (key.strip() for key in (only or "").split(","))))
    if unknown := sorted(wanted - set(keys)):
        near = misspelt(unknown[0], keys)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(keys)}"
        raise UsageError(f"--only: there is no promise {unknown[0]} ({hint})")
    return Request(cluster, version, configured, change, wanted, own, keep)


def rehearsed(request: Request, progress: Progress) -> Rehearsed:
    """Start the twin, test the promises, and remove the twin; if it is kept, `progress` shows how to enter it."""
    began, made, cluster = time.monotonic(), datetime.now().astimezone(), request.cluster
    with _ticking(progress):
        progress.stage("Start the twin", 1)
        twin = Twin.start(
            cluster,
            version=request.version,
            tell=lambda message: progress.step(cluster.name, message),
            keep=request.keep,
        )
        try:
            progress.advance()
            progress.stage("Rehearse", len(request.promises))
            outcome = run.rehearse(twin, cluster, only=request.only, extra=request.own, progress=progress)
        finally:
            if not request.keep:
                twin.stop()
    if request.keep:
        progress.note(
            f"the twin is running: enter it with docker exec -it {twin.name} bash, remove it with docker rm -f "
            f"{twin.name}"
        )
    return Rehearsed(
        cluster=cluster.name,
        version=outcome.version,
        configured=request.configured,
        nodes=len(cluster.having("compute")),
        gpus=cluster.total_gpus,
        caps=caps_of(cluster),
        made=made,
        seconds=time.monotonic() - began,
        findings=outcome.findings,
        moments=outcome.moments,
        differences=_differences(request),
        change=request.change.name if request.change else None,
        grace=max((partition.grace for partition in cluster.partitions.values() if partition.preemptable), default=0),
        waits=outcome.waits,
        suspended=cluster.suspended,
    )


def _differences(request: Request) -> list[Setting]:
    """Return the settings that differ between twin and production, with the reasons."""
    table = differences(place_of(request.cluster, request.version))
    return [Setting(row.file, row.key, row.production, row.twin, row.why) for row in table]


@contextmanager
def _ticking(progress: Progress) -> Iterator[None]:
    """Update the clocks of `progress` while this thread waits for jobs."""
    over = threading.Event()

    def tick() -> None:
        while not over.wait(_TICK_SECONDS):
            progress.tick()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
