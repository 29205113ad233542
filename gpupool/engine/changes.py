"""What a run has changed on a host, or would: each operation's changes, thing by thing, and what they lead to."""

from collections.abc import Iterator

from gpupool.effect import NOTHING, Effect
from gpupool.engine.hosts import Track
from gpupool.engine.report import Change
from gpupool.engine.state import PoolState
from gpupool.operations import diffs


def changes_of(state: PoolState, track: Track) -> tuple[tuple[Change, ...], tuple[Effect, ...]]:
    """Return a host's changes, and the effects of those that have to wait."""
    changes: list[Change] = []
    effects = diffs.effects(track.host)
    for name, item, diff in _changed(state, track):
        changes.append(Change(f"{name} | {item}" if item else name, diff, effects.pop(item, NOTHING)))
    return tuple(changes), tuple(effect for effect in effects.values() if effect.waits)


def _changed(state: PoolState, track: Track) -> Iterator[tuple[str, str, str | None]]:
    host, logged = track.host, track.heard.diffs
    for op_hash, data in state.ops[host].items():
        meta = data.operation_meta
        # What ran within an operation's function is part of that operation.
        if data.parent_op_hash is None and meta.is_complete() and meta.did_change():
            name = state.name(host, op_hash)
            # Our own operations say what they change, thing by thing; pyinfra's log a diff at most.
            for item, diff in diffs.take(host, op_hash).items() or [("", "\n".join(logged.get(op_hash, ())) or None)]:
                yield name, item, diff
