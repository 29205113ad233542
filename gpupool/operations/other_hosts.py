"""Other hosts of this run that an operation asks, for example for a key."""

from typing import Any
from weakref import WeakKeyDictionary

from gevent.lock import BoundedSemaphore
from pyinfra.api.host import Host
from pyinfra.context import ctx_state

_turns: WeakKeyDictionary[Host, BoundedSemaphore] = WeakKeyDictionary()


def named(name: str) -> Host | None:
    """Return the host of this name; None if the run's inventory does not have it."""
    state: Any = ctx_state.get()
    host: Host | None = state.inventory.get_host(name, default=None)
    return host


def takes_part(name: str) -> bool:
    """Return whether this run applies to the host of this name: a limit leaves hosts out."""
    state: Any = ctx_state.get()
    host = named(name)
    return host is not None and bool(state.is_host_in_limit(host))


def turn(host: Host) -> BoundedSemaphore:
    """Return the semaphore to hold while a host is asked: sshd allows ten sessions per connection (MaxSessions)."""
    return _turns.setdefault(host, BoundedSemaphore(1))
