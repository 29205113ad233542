"""`gpupool rehearse`: the promises of an inventory, tried at full size before anybody relies on them."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli.screen import Inventory, Json, With, print_json, stderr, stdout
from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.cluster.near import misspelt
from gpupool.engine.progress import Progress, shown
from gpupool.errors import StoppedError, UsageError
from gpupool.slurm.releases import Supported

if TYPE_CHECKING:
    from gpupool.rehearsal.finding import Finding
    from gpupool.rehearsal.promises.base import Promise
    from gpupool.rehearsal.report.data import Rehearsed, Setting

TICK = 0.5  # seconds


@dataclass(frozen=True)
class _Wish:
    """What a person asked for."""

    cluster: Cluster
    version: Supported
    change: Path | None
    only: frozenset[str]
    own: Sequence["Promise"]
    keep: bool

    @property
    def promises(self) -> list["Promise"]:
        """Those that are tried, the site's own among them."""
        from gpupool.rehearsal.promises import PROMISES

        return [it for it in (*PROMISES, *self.own) if not self.only or it.key in self.only]


def command(
    inventory: Inventory,
    change: With = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write index.html and rehearsal.json to this folder.", metavar="DIR"),
    ] = None,
    as_json: Json = False,
    slurm: Annotated[
        Supported | None, typer.Option("--slurm", help="Slurm version to use instead of the inventory's.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Only these promises, by their keys.", metavar="PROMISE,…")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the twin running afterwards, to inspect it.")] = False,
) -> None:
    """Test the promises with real jobs on a twin of the whole cluster. Exit code 1 if one is broken."""
    from gpupool.rehearsal.report import files, table

    wish = _wish(inventory, change, slurm, only, keep)
    if report is not None:
        files.ensure_writable(report)
    try:
        rehearsed = _rehearsed(wish)
    except KeyboardInterrupt:
        left = "the twin may still be running" if keep else "the twin was removed"
        raise StoppedError(f"interrupted: {left}, no report was written") from None
    if report is not None:
        files.write(report, rehearsed)
        stderr.print(f"the report is {report / 'index.html'}")
    if as_json:
        print_json(rehearsed.as_dict())
    else:
        table.show(stdout, rehearsed)
    if rehearsed.worst == "broken":
        raise SystemExit(1)


def _wish(inventory: Path, change: Path | None, slurm: Supported | None, only: str | None, keep: bool) -> _Wish:
    """Load and check everything that was asked for; a slip costs no twin."""
    from gpupool.rehearsal.promises import PROMISES
    from gpupool.rehearsal.scenarios.promises import promises
    from gpupool.rehearsal.twin.compiled import of_version

    cluster = load(inventory, change)
    version = slurm or cluster.slurm.version
    cluster = of_version(cluster, version)
    own = promises(inventory, cluster)
    keys = [it.key for it in (*PROMISES, *own)]
    wanted = frozenset(filter(None, (it.strip() for it in (only or "").split(","))))
    if unknown := sorted(wanted - set(keys)):
        near = misspelt(unknown[0], keys)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(keys)}"
        raise UsageError(f"--only: there is no promise {unknown[0]} ({hint})")
    return _Wish(cluster, version, change, wanted, own, keep)


def _rehearsed(wish: _Wish) -> "Rehearsed":
    """Stand the twin up, try what was asked for, take it down, whatever happened between."""
    from gpupool.rehearsal.report.data import Rehearsed, caps_of
    from gpupool.rehearsal.run import rehearse
    from gpupool.rehearsal.twin import Twin

    began, made, cluster = time.monotonic(), datetime.now().astimezone(), wish.cluster
    compute = cluster.having("compute")
    with shown(stderr) as progress, _ticking(progress):
        progress.stage("Start the twin", 1)
        twin = Twin.start(
            cluster, version=wish.version, tell=lambda message: progress.step(cluster.name, message), keep=wish.keep
        )
        try:
            progress.advance()
            progress.stage("Rehearse", len(wish.promises))
            outcome = rehearse(
                twin, cluster, only=wish.only, extra=wish.own, tell=lambda key, event: _tell(progress, wish, key, event)
            )
        finally:
            if not wish.keep:
                twin.stop()
    if wish.keep:
        stderr.print(
            f"the twin is running: enter it with docker exec -it {twin.name} bash, remove it with docker rm -f "
            f"{twin.name}"
        )
    return Rehearsed(
        cluster=cluster.name,
        version=outcome.version,
        nodes=len(compute),
        gpus=cluster.total_gpus,
        caps=caps_of(cluster),
        made=made,
        seconds=time.monotonic() - began,
        findings=outcome.findings,
        moments=outcome.moments,
        differences=_differences(wish),
        change=wish.change.name if wish.change else None,
    )


def _differences(wish: _Wish) -> "list[Setting]":
    """Return the settings in which the twin is not as production, with the reasons."""
    from gpupool.rehearsal.report.data import Setting
    from gpupool.rehearsal.twin.differences.table import differences, place_of

    table = differences(place_of(wish.cluster, wish.version))
    return [Setting(it.file, it.key, it.production, it.twin, it.why) for it in table]


def _tell(progress: Progress, wish: _Wish, key: str, finding: "Finding | None") -> None:
    if finding is None:
        promised = next((it.text for it in wish.promises if it.key == key), "")
        progress.step(key, promised)
        return
    progress.advance()
    if finding.outcome == "broken":
        progress.failed(key, finding.happened)
    elif finding.outcome == "void":
        progress.note(f"void: {key}: {finding.happened}")


@contextmanager
def _ticking(progress: Progress) -> Iterator[None]:
    """Let the clocks run while this thread waits for jobs."""
    over = threading.Event()

    def tick() -> None:
        while not over.wait(TICK):
            progress.tick()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
