"""One run over many nodes: connect, prepare and, for an apply, execute; a failure stops only its node.

Operations are ordered by their call site in the deploy, as by pyinfra's command line, so that nodes with different
roles run the same step at the same time. So a deploy must not call roles in a plain loop: all would have one call
site, and pyinfra would take unrelated operations for one. Write one call per line, or use `host.loop`.
"""

import gpupool.engine.patched  # noqa: F401, I001  (before all that opens a socket)
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gevent
import pyinfra
from gevent.pool import Pool
from pyinfra.api import Config, FunctionCommand, Host
from pyinfra.api.command import PyinfraCommand
from pyinfra.api.exceptions import PyinfraError
from pyinfra.api.operations import run_host_op
from pyinfra.api.state import MAX_PARALLEL, StateOperationHostData, StateStage
from pyinfra.context import ctx_config, ctx_host

from gpupool.change import Change
from gpupool.effect import Effect
from gpupool.engine.ambient import command_line, interruptible
from gpupool.engine.audit import STOPPED, Audit
from gpupool.engine.changes import changes_of
from gpupool.engine.clock import deviations
from gpupool.engine.deploy import Deploy, load
from gpupool.engine.explain import reason, unreachable
from gpupool.engine.hosts import Track, inventory_of
from gpupool.engine.lock import LockError, NotRootError
from gpupool.engine.progress import Progress, Silence
from gpupool.engine.record import recording, unheard
from gpupool.engine.report import HostReport, NodeHost, Origin, Report
from gpupool.engine.speed import faster
from gpupool.engine.ssh import ANSWER_SECONDS, PoolSSH
from gpupool.engine.state import PoolState
from gpupool.engine.session import FACT, Freshness, Session
from gpupool.errors import GpupoolError
from gpupool.operations import diffs
from gpupool.reasons import Code, Reason

__all__ = ["HostReport", "NodeHost", "Origin", "Report", "run"]

PARALLEL = 200  # nodes at work at the same time
# A handshake takes tens of milliseconds of this one thread: with more at once, nodes would time out.
CONNECTING = 32
GRACE_SECONDS = 5  # for a running command to end after Ctrl-C
CLOSE_SECONDS = 5
TICK_SECONDS = 0.5
FAILED = Reason()


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
    return _Run(hosts, load(deploy), execute, progress or Silence(), limit, origin).go(log)


class _Run:
    """The state of one run; used once."""

    def __init__(
        self,
        nodes: Sequence[NodeHost],
        deploy: Deploy,
        execute: bool,
        progress: Progress,
        limit: Collection[str] | None,
        origin: Origin | None,
    ) -> None:
        self.audit = Audit(origin) if origin else None
        self.deploy = deploy
        self.execute = execute
        self.progress = progress
        self.interrupted = False
        self.workers = Pool()
        self.freshness = Freshness()
        inventory = inventory_of(nodes)
        chosen = {
            host: node.name for node, host in zip(nodes, inventory, strict=True) if limit is None or node.name in limit
        }
        self.state = PoolState()
        self.state.cwd = str(Path.cwd())
        self.state.current_deploy_filename = self.state.current_exec_filename = deploy.filename
        self.state.print_fact_output = FACT  # type: ignore[assignment]  # by this the session distinguishes facts from operations
        config = Config(PARALLEL=min(len(nodes), PARALLEL, MAX_PARALLEL), DIFF=True, CONNECT_TIMEOUT=ANSWER_SECONDS)
        self.state.init(inventory, config, initial_limit=list(chosen))
        self.state.on_prepared = self._prepared if execute else None
        self.state.sessions = {host: Session(host, self.freshness) for host in inventory}
        self.tracks = {host: Track(name, host, self.state.sessions[host]) for host, name in chosen.items()}

    def go(self, log: Path | None) -> Report:
        """Run all stages and return the report; connections are closed in any case."""
        began = time.monotonic()
        changes: dict[Host, tuple[tuple[Change, ...], tuple[Effect, ...]]] = {}
        heard = {host: track.heard for host, track in self.tracks.items()}
        with recording(heard, log) as recorder, command_line(self.state), faster(), interruptible():
            ticker = gevent.spawn(self._tick)
            try:
                self._connect()
                self._greet()
                self._prepare()
                self._ask_ahead()
                if self.execute:
                    self._execute()
                else:
                    self._foresee()
            except KeyboardInterrupt:
                self._stop()
            try:
                changes = {host: changes_of(self.state, track) for host, track in self.tracks.items()}
                if self.audit:
                    self.audit.end(self.tracks, {host: shown for host, (shown, _) in changes.items()}, self.interrupted)
                self._disconnect()
            except KeyboardInterrupt:
                pass  # Ctrl-C while disconnecting: all work is done
            ticker.kill()
        return Report(
            {
                track.name: self._host_report(track, *changes.get(host, ((), ())), diffs.notes(host))
                for host, track in self.tracks.items()
            },
            time.monotonic() - began,
            self.interrupted,
            recorder.log_failure,
        )

    def _host_report(
        self, track: Track, changes: tuple[Change, ...], waits: tuple[Effect, ...], notes: tuple[str, ...]
    ) -> HostReport:
        if self.interrupted and track.failure is None:
            track.failure = STOPPED
        return HostReport(
            track.failure is None,
            track.failure,
            changes,
            track.session.commands,
            track.seconds,
            notes,
            waits,
            track.reason,
        )

    # Connect

    def _connect(self) -> None:
        self.state.set_stage(StateStage.Connect)
        self.progress.stage("Connect", len(self.tracks))
        self._each(CONNECTING, self._connect_one, list(self.tracks.values()))

    def _connect_one(self, track: Track) -> None:
        self.progress.step(track.name, "connecting")
        with track.busy():
            try:
                track.host.connect(show_errors=False, raise_exceptions=True)
            except Exception as error:
                why = unreachable(error, track.host.data.get("ssh_known_hosts_file"))
                self._fail(track, why, Reason(Code.UNREACHABLE))
            else:
                self.state.activate_host(track.host)
        self.progress.advance()

    # Greet: compare clocks, and lock the nodes

    def _greet(self) -> None:
        tracks = [track for track in self._active() if isinstance(track.host.connector, PoolSSH)]
        # The first node alone: of two runs that begin at the same moment, one gets all nodes and the other none.
        for some in (tracks[:1], tracks[1:]):
            self._each(CONNECTING, self._greet_one, some)
            if self.execute and any(track.greeting and track.greeting.busy for track in some):
                break
        known = {track: track.greeting for track in tracks if track.greeting}
        busy = {track.name: greeting.busy for track, greeting in known.items() if greeting.busy}
        off = deviations({track.name: greeting.ahead for track, greeting in known.items()})
        for track in known:
            if clock := off.get(track.name):
                track.clock = clock
                self.progress.note(f"{track.name}: {clock}")
        if busy and self.execute:
            self._turn_away(busy)
        for name, who in busy.items() if not self.execute else ():
            self.progress.note(f"{name}: {who}: this plan may be outdated")

    def _greet_one(self, track: Track) -> None:
        with track.busy():
            try:
                connector: Any = track.host.connector
                track.greeting = connector.greet(lock=self.execute)
            except LockError as error:
                if self.execute:
                    self._fail(track, f"cannot lock the node for this run: {error}")
            except NotRootError as error:
                self._fail(track, str(error))

    def _turn_away(self, busy: Mapping[str, str]) -> None:
        name, who = next(iter(busy.items()))
        for track in self._active():
            here = busy.get(track.name) or f"not changed: on {name}, {who.replace(' here', '')}"
            why = f"{here}; nothing was changed, try again after it has ended, or apply to other nodes (--limit)"
            self._fail(track, why, Reason(Code.BUSY))

    # Prepare: call the deploy once for each host, and ask the first questions of all operations in one command.
    # Without `execute`, each operation then computes its changes.

    def _prepare(self) -> None:
        self.state.set_stage(StateStage.Prepare)
        active = self._active()
        self.progress.stage("Prepare", len(active))
        self._each(self.state.config.PARALLEL, self._prepare_one, active)

    def _prepare_one(self, track: Track) -> None:
        with track.busy(), ctx_config.use(self.state.config.copy()), ctx_host.use(track.host):
            try:
                self.deploy.call()
            except (Exception, SystemExit) as error:
                pyinfra.logger.warning("%s", error, exc_info=True)
                operation = self.state.unfinished(track.host)
                why = f"{operation}: {track.why(error)}" if operation else track.why(error)
                self._fail(track, why, track.reason_of(error))
        if self.execute or track.failure:
            self.progress.advance()

    def _ask_ahead(self) -> None:
        active = self._active()
        with self.freshness.gather(), unheard():
            for track in active:
                self.state.begin_all(track.host)
        self._each(self.state.config.PARALLEL, self._ask_one_ahead, active)

    def _ask_one_ahead(self, track: Track) -> None:
        with track.busy():
            track.session.ask_ahead()

    def _foresee(self) -> None:
        self._each(self.state.config.PARALLEL, self._foresee_one, self._active())

    def _foresee_one(self, track: Track) -> None:
        with track.busy(), ctx_config.use(self.state.config.copy()), ctx_host.use(track.host):
            for op_hash in self.state.ops[track.host]:
                name = self.state.name(track.host, op_hash)
                self.progress.step(track.name, name)
                try:
                    self.state.foresee(track.host, op_hash)
                except (Exception, SystemExit) as error:
                    pyinfra.logger.warning("%s", error, exc_info=True)
                    self._fail(track, f"{name}: {track.why(error)}", track.reason_of(error))
                    break
        self.progress.advance()

    def _prepared(self, host: Host, op_hash: str) -> None:
        self.progress.step(self.tracks[host].name, self.state.name(host, op_hash))

    # Execute: one operation after the other, on all its hosts in parallel.
    # pyinfra's own run_ops would end the whole run if one operation raises on one host.

    def _execute(self) -> None:
        self.state.set_stage(StateStage.Execute)
        self.state.is_executing = True
        active = self._active()
        try:
            order: list[str] = self.state.get_op_order()  # type: ignore[no-untyped-call]
        except PyinfraError as error:
            # Two hosts reached the same call sites of the deploy in different orders.
            for track in active:
                self._fail(track, f"cannot order the steps of the deploy for all nodes: {reason(error)}")
            return
        for track in active:
            if self.audit:
                track.session.before_change = partial(self.audit.begin, track)
            operations = self.state.ops[track.host]
            track.left = len(operations)
            for data in operations.values():
                data.command_generator = self._watched(data)
        self.progress.stage("Execute", sum(track.left for track in active))
        for op_hash in order:
            ready = [track for track in self._active() if op_hash in self.state.ops[track.host]]
            if ready:
                arguments = self.state.get_op_meta(op_hash).global_arguments
                # The configured number of hosts, unless the role sets another.
                width = 1 if arguments["_serial"] else arguments["_parallel"]
                self._each(width, partial(self._execute_one, op_hash), ready)

    def _execute_one(self, op_hash: str, track: Track) -> None:
        name = self.state.name(track.host, op_hash)
        self.progress.step(track.name, name)
        failed, code = None, Reason()
        with track.busy(), ctx_host.use(track.host):
            try:
                if not run_host_op(self.state, track.host, op_hash):
                    failed, code = track.why(), track.reason_of()
            except _StoppedError:
                return
            except Exception as error:
                pyinfra.logger.warning("%s", error, exc_info=True)
                failed, code = track.why(error), track.reason_of(error)
        track.left -= 1
        self.progress.advance()
        if failed is not None:
            self.progress.advance(track.left)
            self._fail(track, f"{name}: {failed}", code)

    def _watched(self, data: StateOperationHostData) -> Callable[[], Iterator[PyinfraCommand]]:
        """Return the operation's commands; after Ctrl-C, no further command begins."""
        commands = data.command_generator

        def watched() -> Iterator[PyinfraCommand]:
            for command in commands():
                if self.interrupted:
                    raise _StoppedError
                if isinstance(command, FunctionCommand):
                    with self.freshness.function():
                        yield command
                else:
                    yield command

        return watched

    # Afterwards

    def _stop(self) -> None:
        """Stop the run after Ctrl-C: running commands have the grace time to end; a second Ctrl-C stops at once."""
        self.interrupted = True
        try:
            if self.workers and self.state.is_executing:
                self.progress.note(
                    f"stopping: running commands have {GRACE_SECONDS} s to end (Ctrl-C again to stop now)"
                )
                self.workers.join(timeout=GRACE_SECONDS)
            self.workers.kill(timeout=1)
        except KeyboardInterrupt:
            self.workers.kill(block=False)

    def _disconnect(self) -> None:
        self.state.set_stage(StateStage.Disconnect)
        closing = [gevent.spawn(_disconnect_one, host) for host in self.state.inventory if host.connected]
        gevent.joinall(closing, timeout=CLOSE_SECONDS)

    def _each(self, width: int, work: Callable[[Track], None], tracks: Sequence[Track]) -> None:
        self.workers = Pool(width)
        for track in tracks:
            self.workers.spawn(self._one, work, track)
        self.workers.join()

    def _one(self, work: Callable[[Track], None], track: Track) -> None:
        try:
            work(track)
        except Exception as error:
            # A bug of gpupool: otherwise the error would be lost with the greenlet, and the host would look correct.
            pyinfra.logger.error("%s", error, exc_info=True)
            self._fail(track, f"gpupool itself failed: {reason(error)}")

    def _active(self) -> list[Track]:
        return [track for host, track in self.tracks.items() if host in self.state.active_hosts]

    def _fail(self, track: Track, why: str, code: Reason = FAILED) -> None:
        if self.interrupted:
            return
        track.reason = code
        track.failure = why = f"{why} ({track.clock})" if track.clock else why
        self.state.failed_hosts.add(track.host)
        self.state.active_hosts.discard(track.host)
        pyinfra.logger.error("%s: %s", track.name, why)
        self.progress.failed(track.name, why)

    def _tick(self) -> None:
        while True:
            gevent.sleep(TICK_SECONDS)
            self.progress.tick()


class _StoppedError(Exception):
    """Raised instead of a further command after Ctrl-C."""


def _disconnect_one(host: Host) -> None:
    try:
        host.disconnect()
    except Exception as error:  # a broken connection counts as closed
        pyinfra.logger.debug("closing %s: %s", host, error)
