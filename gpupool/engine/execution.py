"""The stage of an apply that changes nodes: one operation after the other, each on all its hosts in parallel.

pyinfra's own run_ops would end the whole run if one operation raises on one host.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pyinfra
from pyinfra.api import FunctionCommand
from pyinfra.api.command import PyinfraCommand
from pyinfra.api.exceptions import PyinfraError
from pyinfra.api.operations import run_host_op
from pyinfra.api.state import StateOperationHostData, StateStage
from pyinfra.context import ctx_host

from gpupool.engine.audit import Audit
from gpupool.engine.explain import reason
from gpupool.engine.hosts import Track
from gpupool.engine.tracks import Tracks
from gpupool.reasons import Reason


class _StoppedError(Exception):
    """Raised instead of a further command after Ctrl-C."""


def execute(tracks: Tracks, audit: Audit | None) -> None:
    """Run all operations; with `audit`, each node gets an audit line before its first change."""
    state = tracks.state
    state.set_stage(StateStage.Execute)
    state.is_executing = True
    active = tracks.active()
    try:
        order: list[str] = state.get_op_order()  # type: ignore[no-untyped-call]
    except PyinfraError as error:
        # Two hosts reached the same call sites of the deploy in different orders.
        for track in active:
            tracks.fail(track, f"cannot order the steps of the deploy for all nodes: {reason(error)}")
        return
    for track in active:
        if audit:
            track.session.before_change = partial(audit.begin, track)
        operations = state.ops[track.host]
        track.left = len(operations)
        for data in operations.values():
            data.command_generator = _watched(tracks, data)
    tracks.progress.stage("Execute", sum(track.left for track in active))
    for op_hash in order:
        ready = [track for track in tracks.active() if op_hash in state.ops[track.host]]
        if ready:
            arguments = state.get_op_meta(op_hash).global_arguments
            # The configured number of hosts, unless the role sets another.
            width = 1 if arguments["_serial"] else arguments["_parallel"]
            tracks.each(width, partial(_execute, tracks, op_hash), ready)


def _execute(tracks: Tracks, op_hash: str, track: Track) -> None:
    name = tracks.state.name(track.host, op_hash)
    tracks.progress.step(track.name, name)
    failed, code = None, Reason()
    with track.busy(), ctx_host.use(track.host):
        try:
            if not run_host_op(tracks.state, track.host, op_hash):
                failed, code = track.why(), track.reason_of()
        except _StoppedError:
            return
        except Exception as error:
            pyinfra.logger.warning("%s", error, exc_info=True)
            failed, code = track.why(error), track.reason_of(error)
    track.left -= 1
    tracks.progress.advance()
    if failed is not None:
        tracks.progress.advance(track.left)
        tracks.fail(track, f"{name}: {failed}", code)


def _watched(tracks: Tracks, data: StateOperationHostData) -> Callable[[], Iterator[PyinfraCommand]]:
    """Return the operation's commands; after Ctrl-C, no further command begins."""
    commands = data.command_generator

    def watched() -> Iterator[PyinfraCommand]:
        for command in commands():
            if tracks.interrupted:
                raise _StoppedError
            if isinstance(command, FunctionCommand):
                with tracks.freshness.function():
                    yield command
            else:
                yield command

    return watched
