"""The image of a twin: the release of Debian with a Slurm version, with all daemons of the cluster."""

from collections.abc import Callable

from gpupool.distributions.tables import Purpose, distribution, shipping
from gpupool.errors import UsageError
from gpupool.slurm.releases import TESTED, Known, Tested
from gpupool.testbed import image

_PURPOSES: tuple[Purpose, ...] = (
    *("database", "munge", "python"),
    *("slurm commands", "slurmctld", "slurmd", "slurmdbd"),
)


def runnable(version: Known) -> Tested:
    """Return a release that a twin can run; UsageError if no image has packages of it."""
    for tested in TESTED:
        if tested == version:
            return tested
    known = ", ".join(TESTED)
    raise UsageError(f"a twin cannot run Slurm {version}: there is no image with it, only with {known}")


def ensure(version: Tested, tell: Callable[[str], None]) -> str:
    """Return the image for a Slurm version; build it if it is missing, which takes a minute or two."""
    suite = shipping(version)[0]
    packages = frozenset(distribution(suite).names(*_PURPOSES))
    return image.ensure(suite, [packages], tell)[packages]
