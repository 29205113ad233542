"""The lock on a controller that allows one maintenance or upgrade of a cluster at a time; it ends with the run."""

from collections.abc import Iterator
from contextlib import contextmanager

from gpupool.remote.controller import Controller
from gpupool.remote.lease import Lease, leased

PATH = "/run/gpupool-maintain.lock"

Hold = Lease


@contextmanager
def locked(controller: Controller) -> Iterator[Lease]:
    """Hold the lock on the first controller that answers; GpupoolError with the holder if another run holds it.

    Maintenance and upgrades share this lock: both take nodes out of service, a few at a time.
    """
    with leased(controller, controller.first(), PATH, "doing maintenance") as lease:
        yield lease
