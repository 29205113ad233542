"""The start of a maintenance or an upgrade: load the engine, reach the controllers, lock the cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from gpupool.remote.controller import Controller, reach
from gpupool.run.door import Door
from gpupool.upkeep.hold import Hold, locked


@contextmanager
def engaged(door: Door) -> Iterator[tuple[Controller, Hold]]:
    """Yield the connection to the controllers and the lock; GpupoolError if another maintenance or upgrade holds it."""
    door.load()
    with reach(door.target) as controller, locked(controller) as hold:
        yield controller, hold
