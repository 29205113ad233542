"""The image of a twin: Debian as it ships a Slurm version, with every daemon of the cluster in one tree."""

from collections.abc import Callable, Mapping

from gpupool.rehearsal.twin.compiled import Version
from gpupool.testbed import image

SUITES: Mapping[Version, str] = {"22.05": "bookworm", "24.11": "trixie", "26.05": "sid"}

_PACKAGES = frozenset({"mariadb-server", "munge", "python3", "slurm-wlm", "slurmctld", "slurmd", "slurmdbd"})


def ensure(version: Version, tell: Callable[[str], None]) -> str:
    """Return the image for a Slurm version, built now if it is not here yet (a minute or two)."""
    return image.ensure(SUITES[version], [_PACKAGES], tell)[_PACKAGES]
