"""One run over many nodes: connect, prepare and, for an apply, execute; a failure stops only its node.

Operations are ordered by their call site in the deploy, as by pyinfra's command line, so that nodes with different
roles run the same step at the same time. A deploy must not call roles in a plain loop: all would have one call
site, and pyinfra would treat unrelated operations as one. Write one call per line, or use `host.loop`.
"""

import gpupool.engine.patched  # noqa: F401, I001  (before all that opens a socket)
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import gevent
from pyinfra.api import Host

from gpupool.change import Change
from gpupool.effect import Effect
from gpupool.engine.ambient import command_line, interruptible
from gpupool.engine.audit import STOPPED, Audit
from gpupool.engine.changes import changes_of
from gpupool.engine.connection import connect, disconnect, greet
from gpupool.engine.deploy import Deploy, load
from gpupool.engine.execution import execute as execute_operations
from gpupool.engine.foresight import foresee, prepare
from gpupool.engine.hosts import Track
from gpupool.engine.progress import Progress, Silence
from gpupool.engine.record import recording
from gpupool.engine.report import HostReport, NodeHost, Origin, Report
from gpupool.engine.speed import faster
from gpupool.engine.tracks import Tracks
from gpupool.errors import GpupoolError
from gpupool.operations import diffs

__all__ = ["HostReport", "NodeHost", "Origin", "Report", "run"]

GRACE_SECONDS = 5  # for a running command to end after Ctrl-C
TICK_SECONDS = 0.5


def run(
    hosts: Sequence[NodeHost],
    deploy: Path | Callable[[], object],
    *,
    execute: bool,
    origin: Origin | None,
    progress: Progress | None = None,
    limit: Collection[str] | None = None,
    log: Path | None = None,
) -> Report:
    """Run `deploy` (a deploy file, or a function that calls operations) on `hosts`, or on the nodes named in `limit`.

    Without `execute` nothing is written: the report has the changes that would be made. With `execute` the nodes are
    locked for this run; if another run has locked one of them, all fail and nothing is changed. An unreachable node,
    or an error in a role, a fact or an operation, stops only that node. Ctrl-C ends the run with `Report.interrupted`.
    `log` gets pyinfra's messages. Each changed node gets an audit line with `origin`, which is required with `execute`.
    GpupoolError if the deploy cannot be run or a node in `limit` does not exist.
    """
    unknown = sorted(set(limit or ()) - {node.name for node in hosts})
    if unknown:
        raise GpupoolError(f"no such node: {', '.join(unknown)}")
    if execute and origin is None:
        raise TypeError("a run that changes nodes needs an origin")
    if not hosts or (limit is not None and not limit):
        return Report({}, 0.0)
    loaded = load(deploy)
    tracks = Tracks(hosts, loaded, progress or Silence(), limit)
    return _run(tracks, loaded, execute, Audit(origin) if origin else None, log)


def _run(tracks: Tracks, deploy: Deploy, execute: bool, audit: Audit | None, log: Path | None) -> Report:
    """Run all stages and return the report; connections are closed in any case."""
    began = time.monotonic()
    changes: dict[Host, tuple[tuple[Change, ...], tuple[Effect, ...]]] = {}
    heard = {host: track.heard for host, track in tracks.by_host.items()}
    with recording(heard, log) as recorder, command_line(tracks.state), faster(), interruptible():
        ticker = gevent.spawn(_tick, tracks.progress)
        try:
            _stages(tracks, deploy, execute, audit)
        except KeyboardInterrupt:
            tracks.stop(GRACE_SECONDS)
        try:
            changes = {host: changes_of(tracks.state, track) for host, track in tracks.by_host.items()}
            if audit:
                audit.end(tracks.by_host, {host: shown for host, (shown, _) in changes.items()}, tracks.interrupted)
            disconnect(tracks)
        except KeyboardInterrupt:
            pass  # Ctrl-C while disconnecting: all work is done
        ticker.kill()
    return Report(
        {
            track.name: _host_report(track, tracks.interrupted, *changes.get(host, ((), ())))
            for host, track in tracks.by_host.items()
        },
        time.monotonic() - began,
        tracks.interrupted,
        recorder.log_failure,
    )


def _stages(tracks: Tracks, deploy: Deploy, execute: bool, audit: Audit | None) -> None:
    connect(tracks)
    greet(tracks, lock=execute)
    prepare(tracks, deploy, execute)
    if execute:
        execute_operations(tracks, audit)
    else:
        foresee(tracks)


def _host_report(track: Track, interrupted: bool, changes: tuple[Change, ...], waits: tuple[Effect, ...]) -> HostReport:
    if interrupted and track.failure is None:
        track.failure = STOPPED
    return HostReport(
        track.failure is None,
        track.failure,
        changes,
        track.session.commands,
        track.seconds,
        diffs.notes(track.host),
        waits,
        track.reason,
    )


def _tick(progress: Progress) -> None:
    while True:
        gevent.sleep(TICK_SECONDS)
        progress.tick()
