"""One maintenance or upgrade at a time on a cluster: its lock is on a controller, and ends with its process."""

from collections.abc import Iterator
from contextlib import contextmanager

from gpupool.remote.controller import Controller
from gpupool.remote.lease import Lease, leased

PATH = "/run/gpupool-maintain.lock"

Hold = Lease


@contextmanager
def locked(controller: Controller) -> Iterator[Lease]:
    """Hold the lock on the first controller that answers; GpupoolError that names the holder, if another run has it.

    It is one lock for all work that takes nodes out of service a few at a time.
    """
    with leased(controller, controller.first(), PATH, "doing maintenance") as lease:
        yield lease
