"""The start of a maintenance or an upgrade: load the engine, reach the controllers, lock the cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from gpupool.remote.controller import Controller, reach
from gpupool.run.runner import DeployRunner
from gpupool.upkeep.hold import Hold, locked


@contextmanager
def locked_controllers(runner: DeployRunner) -> Iterator[tuple[Controller, Hold]]:
    """Yield the connection to the controllers and the lock; GpupoolError if another maintenance or upgrade holds it."""
    runner.load()
    with reach(runner.target) as controller, locked(controller) as hold:
        yield controller, hold
