"""One run over many nodes: connect, prepare and, for an apply, execute; a failure stops only its node.

Operations are ordered by their call site in the deploy, as by pyinfra's command line, so that nodes with different
roles run the same step at the same time. A deploy must not call roles in a plain loop: all would have one call
site, and pyinfra would treat unrelated operations as one. Write one call per line, or use `host.loop`.
"""

import gpupool.engine.patched  # noqa: F401, I001  (before all that opens a socket)
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import gevent
from pyinfra.api import Host

from gpupool.change import Change
from gpupool.effect import Effect
from gpupool.engine.ambient import command_line, interruptible
from gpupool.engine.audit import STOPPED, Audit
from gpupool.engine.changes import changes_of
from gpupool.engine.connection import connect, disconnect, compare_clocks_and_lock
from gpupool.engine.deploy import Deploy, load
from gpupool.engine.execution import execute as execute_operations
from gpupool.engine.foresight import Agree, foresee, hold_unless_agreed, prepare, refuse_all
from gpupool.engine.hosts import HostRun
from gpupool.engine.progress import Progress, Silence
from gpupool.engine.record import recording
from gpupool.engine.report import HostReport, NodeHost, Origin, Report
from gpupool.engine.speed import faster
from gpupool.engine.host_runs import HostRuns
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
    refusals_first: bool = False,
    agree: Agree | None = None,
    progress: Progress | None = None,
    limit: Collection[str] | None = None,
    log: Path | None = None,
) -> Report:
    """Run `deploy` (a deploy file, or a function that calls operations) on `hosts`, or on the nodes named in `limit`.

    Without `execute` nothing is written: the report has the changes that would be made. With `execute` the nodes are
    locked for this run; if another run has locked one of them, all fail and nothing is changed. With `refusals_first`,
    all operations are asked on all nodes before the first change: if one refuses, all nodes fail and nothing is
    changed. With `agree`, all fail unless it agrees to the changes that they would make. An unreachable node, or an
    error in a role, a fact or an operation, stops only that node. Ctrl-C ends the run with `Report.interrupted`. `log`
    gets pyinfra's messages. Each changed node gets an audit line with `origin`, which is required with `execute`.
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
    host_runs = HostRuns(hosts, loaded, progress or Silence(), limit)
    first = partial(hold_unless_agreed, agree=agree) if agree else refuse_all if refusals_first else None
    return _run(host_runs, loaded, execute, first, Audit(origin) if origin else None, log)


def _run(
    host_runs: HostRuns,
    deploy: Deploy,
    execute: bool,
    first: Callable[[HostRuns], None] | None,
    audit: Audit | None,
    log: Path | None,
) -> Report:
    """Run all stages and return the report; connections are closed in any case."""
    began = time.monotonic()
    changes: dict[Host, tuple[tuple[Change, ...], tuple[Effect, ...]]] = {}
    heard = {host: host_run.heard for host, host_run in host_runs.by_host.items()}
    with (
        recording(heard, log, host_runs.progress.output) as recorder,
        command_line(host_runs.state),
        faster(),
        interruptible(),
    ):
        ticker = gevent.spawn(_tick, host_runs.progress)
        try:
            _stages(host_runs, deploy, execute, first, audit)
        except KeyboardInterrupt:
            host_runs.stop(GRACE_SECONDS)
        try:
            changes = {host: changes_of(host_runs.state, host_run) for host, host_run in host_runs.by_host.items()}
            if audit:
                audit.end(
                    host_runs.by_host, {host: shown for host, (shown, _) in changes.items()}, host_runs.interrupted
                )
            disconnect(host_runs)
        except KeyboardInterrupt:
            pass  # Ctrl-C while disconnecting: all work is done
        ticker.kill()
    return Report(
        {
            host_run.name: _host_report(host_run, host_runs.interrupted, *changes.get(host, ((), ())))
            for host, host_run in host_runs.by_host.items()
        },
        time.monotonic() - began,
        host_runs.interrupted,
        recorder.log_failure,
    )


def _stages(
    host_runs: HostRuns,
    deploy: Deploy,
    execute: bool,
    first: Callable[[HostRuns], None] | None,
    audit: Audit | None,
) -> None:
    connect(host_runs)
    compare_clocks_and_lock(host_runs, lock=execute)
    prepare(host_runs, deploy, execute)
    if execute:
        if first:
            first(host_runs)
        execute_operations(host_runs, audit)
    else:
        foresee(host_runs)


def _host_report(
    host_run: HostRun, interrupted: bool, changes: tuple[Change, ...], waits: tuple[Effect, ...]
) -> HostReport:
    if interrupted and host_run.failure is None:
        host_run.failure = STOPPED
    return HostReport(
        host_run.failure is None,
        host_run.failure,
        changes,
        host_run.session.commands,
        host_run.seconds,
        diffs.notes(host_run.host),
        waits,
        host_run.reason,
    )


def _tick(progress: Progress) -> None:
    while True:
        gevent.sleep(TICK_SECONDS)
        progress.tick()
