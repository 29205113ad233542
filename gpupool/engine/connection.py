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
from gpupool.engine.hosts import Track
from gpupool.engine.lock import LockError, NotRootError
from gpupool.engine.ssh import PoolSSH
from gpupool.engine.tracks import Tracks
from gpupool.reasons import Code, Reason

# A handshake occupies the only thread for tens of milliseconds: with more at once, some would time out.
CONNECTING = 32
CLOSE_SECONDS = 5


def connect(tracks: Tracks) -> None:
    """Connect all hosts; a host that cannot be reached fails."""
    tracks.state.set_stage(StateStage.Connect)
    tracks.progress.stage("Connect", len(tracks.by_host))
    tracks.each(CONNECTING, partial(_connect, tracks), tracks.all())


def _connect(tracks: Tracks, track: Track) -> None:
    tracks.progress.step(track.name, "connecting")
    with track.busy():
        try:
            track.host.connect(show_errors=False, raise_exceptions=True)
        except Exception as error:
            text = unreachable(error, track.host.data.get("ssh_known_hosts_file"))
            tracks.fail(track, text, Reason(Code.UNREACHABLE))
        else:
            tracks.state.activate_host(track.host)
    tracks.progress.advance()


def greet(tracks: Tracks, lock: bool) -> None:
    """Compare the clocks of nodes; with `lock`, lock all of them, or fail all if another run has locked one."""
    reached = [track for track in tracks.active() if isinstance(track.host.connector, PoolSSH)]
    # The first node is locked alone, so that of two simultaneous runs one gets all nodes and the other none.
    for some in (reached[:1], reached[1:]):
        tracks.each(CONNECTING, partial(_greet, tracks, lock), some)
        if lock and any(track.greeting and track.greeting.busy for track in some):
            break
    greetings = {track: track.greeting for track in reached if track.greeting}
    busy = {track.name: greeting.busy for track, greeting in greetings.items() if greeting.busy}
    off = deviations({track.name: greeting.ahead for track, greeting in greetings.items()})
    for track in greetings:
        if clock := off.get(track.name):
            track.clock = clock
            tracks.progress.note(f"{track.name}: {clock}")
    if busy and lock:
        _turn_away(tracks, busy)
    for name, holder in busy.items() if not lock else ():
        tracks.progress.note(f"{name}: {holder}: this plan may be outdated")


def _greet(tracks: Tracks, lock: bool, track: Track) -> None:
    with track.busy():
        try:
            connector: Any = track.host.connector
            track.greeting = connector.greet(lock=lock)
        except LockError as error:
            if lock:
                tracks.fail(track, f"cannot lock the node for this run: {error}")
        except NotRootError as error:
            tracks.fail(track, str(error))


def _turn_away(tracks: Tracks, busy: Mapping[str, str]) -> None:
    name, holder = next(iter(busy.items()))
    for track in tracks.active():
        text = busy.get(track.name) or f"not changed: on {name}, {holder.replace(' here', '')}"
        advice = "try again after it has ended, or apply to other nodes (--limit)"
        tracks.fail(track, f"{text}; nothing was changed, {advice}", Reason(Code.BUSY))


def disconnect(tracks: Tracks) -> None:
    """Close all connections, in at most `CLOSE_SECONDS`."""
    tracks.state.set_stage(StateStage.Disconnect)
    closing = [gevent.spawn(_disconnect, host) for host in tracks.state.inventory if host.connected]
    gevent.joinall(closing, timeout=CLOSE_SECONDS)


def _disconnect(host: Host) -> None:
    try:
        host.disconnect()
    except Exception as error:  # a broken connection counts as closed
        pyinfra.logger.debug("closing %s: %s", host, error)
