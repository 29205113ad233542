"""The stages of a run before a change: call the deploy for each host, ask questions, compute the changes of a plan."""

from functools import partial

from pyinfra.api import Host
from pyinfra.api.state import StateStage

from gpupool.engine.deploy import Deploy
from gpupool.engine.hosts import Track
from gpupool.engine.record import unheard
from gpupool.engine.tracks import Tracks


def prepare(tracks: Tracks, deploy: Deploy, execute: bool) -> None:
    """Call the deploy once for each host, and ask the first questions of all its operations in one command."""
    tracks.state.set_stage(StateStage.Prepare)
    active = tracks.active()
    tracks.progress.stage("Prepare", len(active))
    tracks.state.on_prepared = partial(_prepared, tracks) if execute else None
    tracks.each(tracks.state.config.PARALLEL, partial(_prepare, tracks, deploy, execute), active)
    _ask_ahead(tracks)


def _prepare(tracks: Tracks, deploy: Deploy, execute: bool, track: Track) -> None:
    with tracks.deploying(track), tracks.failing(track, partial(tracks.state.unfinished, track.host)):
        deploy.call()
    if execute or track.failure:
        tracks.progress.advance()


def _prepared(tracks: Tracks, host: Host, op_hash: str) -> None:
    tracks.progress.step(tracks.by_host[host].name, tracks.state.name(host, op_hash))


def _ask_ahead(tracks: Tracks) -> None:
    active = tracks.active()
    with tracks.freshness.gather(), unheard():
        for track in active:
            tracks.state.begin_all(track.host)
    tracks.each(tracks.state.config.PARALLEL, _ask_one_ahead, active)


def _ask_one_ahead(track: Track) -> None:
    with track.busy():
        track.session.ask_ahead()


def foresee(tracks: Tracks) -> None:
    """Compute the changes of each operation on each host, and make none."""
    tracks.each(tracks.state.config.PARALLEL, partial(_foresee, tracks), tracks.active())


def _foresee(tracks: Tracks, track: Track) -> None:
    with tracks.deploying(track):
        for op_hash in tracks.state.ops[track.host]:
            tracks.progress.step(track.name, tracks.state.name(track.host, op_hash))
            with tracks.failing(track, partial(tracks.state.name, track.host, op_hash)):
                tracks.state.foresee(track.host, op_hash)
            if track.failure:
                break
    tracks.progress.advance()
