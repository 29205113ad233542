"""The image of a twin: the release of Debian with a Slurm version, with all daemons of the cluster."""

from collections.abc import Callable

from gpupool.distributions.tables import shipping
from gpupool.slurm.releases import Supported
from gpupool.testbed import image

_PACKAGES = frozenset({"mariadb-server", "munge", "python3", "slurm-wlm", "slurmctld", "slurmd", "slurmdbd"})


def ensure(version: Supported, tell: Callable[[str], None]) -> str:
    """Return the image for a Slurm version; build it if it is missing, which takes a minute or two."""
    return image.ensure(shipping(version)[0], [_PACKAGES], tell)[_PACKAGES]
