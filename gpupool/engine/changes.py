"""The changes that a run has made on a host, or would make: those of each operation, with step and effect."""

from collections.abc import Iterator
from dataclasses import replace

from gpupool.change import Aspect, Change, Kind
from gpupool.effect import NOTHING, Effect
from gpupool.engine.hosts import HostRun
from gpupool.engine.state import PoolState
from gpupool.operations import diffs


def changes_of(state: PoolState, host_run: HostRun) -> tuple[tuple[Change, ...], tuple[Effect, ...]]:
    """Return a host's changes, and the effects of changes that wait until nodes are drained."""
    effects = diffs.effects(host_run.host)
    changes = tuple(replace(change, effect=effects.pop(change.name, NOTHING)) for change in _changed(state, host_run))
    return changes, tuple(effect for effect in effects.values() if effect.waits)


def _changed(state: PoolState, host_run: HostRun) -> Iterator[Change]:
    host, logged = host_run.host, host_run.heard.diffs
    for op_hash, data in state.ops[host].items():
        meta = data.operation_meta
        # A nested operation is part of the operation that called it.
        if data.parent_op_hash is None and meta.is_complete() and meta.did_change():
            step = state.name(host, op_hash)
            # gpupool's operations record their changes; pyinfra's at most log a diff.
            recorded = diffs.take(host, op_hash)
            unknown = Change(Kind.OTHER, "", (Aspect(diff="\n".join(logged.get(op_hash, ()))),))
            yield from (replace(change, step=step) for change in recorded or (unknown,))
