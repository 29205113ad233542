"""Distribute the host keys of all nodes to each node: read during the run, and kept in memory.

Only keys are read from a node; names come from the inventory. The connection's host key was checked, so the keys are
those of the node.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast
from weakref import WeakKeyDictionary

from pyinfra.api.facts import get_fact
from pyinfra.api.state import State
from pyinfra.context import ctx_state

from gpupool.facts.host_keys import KNOWN, HostKeys, KnownHosts
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.files import put
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.other_hosts import named, turn
from gpupool.wanted import File

_HEAD = (
    "# Written by gpupool: the host keys of the nodes, read from them; "
    "changes made here are undone by the next apply.\n"
    f"# Keys of other hosts belong in {KNOWN}2.\n"
)

Keys = dict[str, tuple[str, ...]]

_read: WeakKeyDictionary[State, dict[bool, Keys]] = WeakKeyDictionary()


@operation
def known(nodes: Mapping[str, str], source: str | None = None) -> Commands:
    """Have the host keys of these nodes for every user: name -> all names of the node, joined by commas.

    If a node's keys cannot be read in this run, its lines in the file are kept, or copied from the host `source` of
    this run: otherwise a node that joins alone would know no other. All other lines are removed.
    """
    host, state = this_host(), cast(State, cast(Any, ctx_state).get())
    read = _read.setdefault(state, {}).setdefault(executing(), {})
    with turn(host):
        try:
            read[host.name] = read.get(host.name) or look(HostKeys, "the host keys")
        except Exception:
            read.setdefault(host.name, ())  # all nodes ask, but only the first waits for a node that does not answer
            raise
    keys = {name: read[name] if name in read else _ask(state, name, read) for name in nodes}
    if not all(keys.values()):
        before = look(KnownHosts, KNOWN)
        if source and not all(asked or name in before for name, asked in keys.items()):
            before = {**_known_by(state, source), **before}
        keys = {name: asked or before.get(name, ()) for name, asked in keys.items()}
    yield from put._inner(files=[File(KNOWN, text_of(nodes, keys))])


def text_of(nodes: Mapping[str, str], keys: Mapping[str, tuple[str, ...]]) -> str:
    """Return the text of the file: a line for each key of each node, in the order of `nodes`."""
    return _HEAD + "".join(f"{names} {key}\n" for name, names in nodes.items() for key in keys.get(name, ()))


def _ask(state: State, name: str, read: Keys) -> tuple[str, ...]:
    """Return the keys of another node; none if it is not in this run, has failed or does not answer."""
    host = named(name)
    if host is None or host not in state.active_hosts:
        return ()
    with turn(host):
        if name not in read:
            keys = None
            with suppress(Exception):  # whatever the connector raises must not fail the node that asks
                keys = get_fact(state, host, HostKeys, apply_failed_hosts=False)
            # all nodes ask, but only the first waits for a node that does not answer
            read[name] = keys or ()
        return read[name]


def _known_by(state: State, name: str) -> Keys:
    """Return the known hosts of another node; none if it is not in this run or does not answer."""
    host = named(name)
    if host is None or host not in state.active_hosts or host is this_host():
        return {}
    with turn(host), suppress(Exception):
        return get_fact(state, host, KnownHosts, apply_failed_hosts=False) or {}
    return {}
