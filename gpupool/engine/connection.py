"""The first stages of a run and the last: connect, compare clocks and lock the nodes; disconnect."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import gevent
import pyinfra
from pyinfra.api import Host
from pyinfra.api.state import StateStage

from gpupool.engine.clock import deviations
from gpupool.engine.explain import unreachable
from gpupool.engine.host_runs import HostRuns
from gpupool.engine.hosts import HostRun
from gpupool.engine.lock import LockError, NotRootError
from gpupool.engine.ssh import PoolSSH
from gpupool.reasons import Code, Reason

# A handshake occupies the only thread for tens of milliseconds: with more at once, some would time out.
CONNECTING = 32
CLOSE_SECONDS = 5


def connect(host_runs: HostRuns) -> None:
    """Connect all hosts; a host that cannot be reached fails."""
    host_runs.state.set_stage(StateStage.Connect)
    host_runs.progress.stage("Connect", len(host_runs.by_host))
    host_runs.each(CONNECTING, partial(_connect, host_runs), host_runs.all())


def _connect(host_runs: HostRuns, host_run: HostRun) -> None:
    host_runs.progress.step(host_run.name, "connecting")
    with host_run.busy():
        try:
            host_run.host.connect(show_errors=False, raise_exceptions=True)
        except Exception as error:
            text = unreachable(error, host_run.host.data.get("ssh_known_hosts_file"))
            host_runs.fail(host_run, text, Reason(Code.UNREACHABLE))
        else:
            host_runs.state.activate_host(host_run.host)
            if isinstance(host_run.host.connector, PoolSSH):
                host_run.host.connector.tell = partial(host_runs.progress.step, host_run.name)
    host_runs.progress.advance()


def compare_clocks_and_lock(host_runs: HostRuns, lock: bool) -> None:
    """Compare the clocks of nodes; with `lock`, lock all of them, or fail all if another run has locked one."""
    reached = [host_run for host_run in host_runs.active() if isinstance(host_run.host.connector, PoolSSH)]
    # The first node is locked alone, so that of two simultaneous runs one gets all nodes and the other none.
    for some in (reached[:1], reached[1:]):
        host_runs.each(CONNECTING, partial(_ask_clock_and_lock, host_runs, lock), some)
        if lock and any(host_run.first_answer and host_run.first_answer.busy for host_run in some):
            break
    answers = {host_run: host_run.first_answer for host_run in reached if host_run.first_answer}
    busy = {host_run.name: answer.busy for host_run, answer in answers.items() if answer.busy}
    off = deviations({host_run.name: answer.ahead for host_run, answer in answers.items()})
    for host_run in answers:
        if clock := off.get(host_run.name):
            host_run.clock = clock
            host_runs.progress.note(f"{host_run.name}: {clock}")
    if busy and lock:
        _turn_away(host_runs, busy)
    for name, holder in busy.items() if not lock else ():
        host_runs.progress.note(f"{name}: {holder}: this plan may be outdated")


def _ask_clock_and_lock(host_runs: HostRuns, lock: bool, host_run: HostRun) -> None:
    with host_run.busy():
        try:
            connector: Any = host_run.host.connector
            host_run.first_answer = connector.ask_clock_and_lock(lock=lock)
        except LockError as error:
            if lock:
                host_runs.fail(host_run, f"cannot lock the node for this run: {error}")
        except NotRootError as error:
            host_runs.fail(host_run, str(error))


def _turn_away(host_runs: HostRuns, busy: Mapping[str, str]) -> None:
    name, holder = next(iter(busy.items()))
    for host_run in host_runs.active():
        text = busy.get(host_run.name) or f"not changed: on {name}, {holder.replace(' here', '')}"
        advice = "try again after it has ended, or apply to other nodes (--limit)"
        host_runs.fail(host_run, f"{text}; nothing was changed, {advice}", Reason(Code.BUSY))


def disconnect(host_runs: HostRuns) -> None:
    """Close all connections, in at most `CLOSE_SECONDS`."""
    host_runs.state.set_stage(StateStage.Disconnect)
    closing = [gevent.spawn(_disconnect, host) for host in host_runs.state.inventory if host.connected]
    gevent.joinall(closing, timeout=CLOSE_SECONDS)


def _disconnect(host: Host) -> None:
    try:
        host.disconnect()
    except Exception as error:  # a broken connection counts as closed
        pyinfra.logger.debug("closing %s: %s", host, error)
