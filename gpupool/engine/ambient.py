"""Globals that are set during a run and restored afterwards: pyinfra's context, and the handler of Ctrl-C."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import gevent
import pyinfra
from pyinfra.connectors.sshuserclient.client import get_host_keys
from pyinfra.context import ctx_inventory, ctx_state

from gpupool.engine.state import PoolState


@contextmanager
def command_line(state: PoolState) -> Iterator[None]:
    """Set the globals that pyinfra's own command line sets; `is_cli` makes pyinfra order operations by call site."""
    was_cli, had_state, had_inventory = pyinfra.is_cli, ctx_state.get(), ctx_inventory.get()
    pyinfra.is_cli = True
    ctx_state.set(state)
    ctx_inventory.set(state.inventory)
    get_host_keys.cache.clear()  # a testbed that this process has recreated has new host keys in the same file
    here = os.getcwd()  # noqa: PTH109  # exactly as pyinfra writes it into sys.path
    if here not in sys.path:
        sys.path.append(here)
    try:
        yield
    finally:
        pyinfra.is_cli = was_cli
        ctx_state.set(had_state)
        ctx_inventory.set(had_inventory)


@contextmanager
def interruptible() -> Iterator[None]:
    """Make Ctrl-C raise KeyboardInterrupt in the greenlet of this context, not in any greenlet that happens to run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    here = gevent.getcurrent()
    before = signal.signal(signal.SIGINT, lambda number, frame: gevent.kill(here, KeyboardInterrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
