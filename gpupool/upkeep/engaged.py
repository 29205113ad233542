"""The start of each long work on nodes in service: the engine, the controllers, and the lock of the cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from gpupool.remote.controller import Controller, reach
from gpupool.run.door import Door
from gpupool.upkeep.hold import Hold, locked


@contextmanager
def engaged(door: Door) -> Iterator[tuple[Controller, Hold]]:
    """Give the way to the controllers, and the lock; GpupoolError while another maintenance or upgrade has it."""
    door.load()
    with reach(door.target) as controller, locked(controller) as hold:
        yield controller, hold
