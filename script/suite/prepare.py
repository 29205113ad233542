"""Preparations that take minutes and can run beside other layers: `python -m suite.prepare NAME`.

An image is named by its inputs, so an existing image costs only a check. A test that needs an image before it is ready
waits for it: it is never built twice.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial

from gpupool.errors import GpupoolError
from gpupool.rehearsal.twin import image as twin
from gpupool.slurm.releases import Tested
from gpupool.testbed import apt, dockerd, image
from gpupool.testbed.vm import image as vm_image

SUITE = "trixie"  # the release of the machines, and of most containers


def tell(message: str) -> None:
    """Print to standard error what is being prepared."""
    print(message, file=sys.stderr, flush=True)


def _docker() -> None:
    dockerd.ensure()
    if not shutil.which("mmdebstrap") and os.geteuid() == 0:
        apt.install(["mmdebstrap", "debian-archive-keyring"])  # on failure, the image that needs it reports the reason


def _chromium() -> None:
    names = ("chromium", "chromium-browser", "google-chrome")
    if not any(map(shutil.which, names)) and (why := apt.install(["chromium"])):
        raise GpupoolError(f"the rehearsal's report is tested in a browser: {why}")


def _twin(version: Tested) -> None:
    twin.ensure(version, tell)


def _machines() -> None:
    # the base of disks: tests with machines add the packages of their nodes
    image.ensure(SUITE, [frozenset()], tell, vm_image.MACHINES)


def _nodes() -> None:
    image.ensure(SUITE, [frozenset()], tell)


#: In the order in which they begin; the first alone, then two at a time.
PREPARATIONS: Mapping[str, Callable[[], None]] = {
    "docker": _docker,
    "nodes": _nodes,
    "machines": _machines,
    "twin-24.11": partial(_twin, "24.11"),
    "chromium": _chromium,
    "twin-22.05": partial(_twin, "22.05"),
    "twin-26.05": partial(_twin, "26.05"),
}


if __name__ == "__main__":
    try:
        PREPARATIONS[sys.argv[1]]()
    except GpupoolError as error:
        sys.exit(str(error))
