"""Hosts of this run that another one asks, as a key is asked for."""

from typing import Any
from weakref import WeakKeyDictionary

from gevent.lock import BoundedSemaphore
from pyinfra.api.host import Host
from pyinfra.context import ctx_state

_turns: WeakKeyDictionary[Host, BoundedSemaphore] = WeakKeyDictionary()


def named(name: str) -> Host | None:
    """Return the host of this name; None where the run's inventory has none."""
    state: Any = ctx_state.get()
    host: Host | None = state.inventory.get_host(name, default=None)
    return host


def turn(host: Host) -> BoundedSemaphore:
    """Return what to hold while a host is asked: sshd takes ten sessions on one connection (MaxSessions)."""
    return _turns.setdefault(host, BoundedSemaphore(1))
