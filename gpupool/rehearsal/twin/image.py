"""The image of a twin: Debian as it ships a Slurm version, with every daemon of the cluster in one tree."""

from collections.abc import Callable

from gpupool.slurm.releases import SUITES, Supported
from gpupool.testbed import image

_PACKAGES = frozenset({"mariadb-server", "munge", "python3", "slurm-wlm", "slurmctld", "slurmd", "slurmdbd"})


def ensure(version: Supported, tell: Callable[[str], None]) -> str:
    """Return the image for a Slurm version, built now if it is not here yet (a minute or two)."""
    return image.ensure(SUITES[version], [_PACKAGES], tell)[_PACKAGES]
