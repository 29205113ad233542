"""Which Slurm a node has, beside the one that its new files are for: another one is never met by accident."""

from gpupool.facts.packages import Packages
from gpupool.facts.slurm_packages import release_of
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Refused, look, operation
from gpupool.slurm.releases import number

#: Debian's packages of Slurm's daemons and commands.
PACKAGES = ("slurm-client", "slurmctld", "slurmd", "slurmdbd", "sackd")
_HOW = "see docs/upgrade.md"


@operation
def refuse_another(version: str, takes_over_from: list[str]) -> None:
    """Refuse to go on where the node has a Slurm of another release than `version`, before anything is changed.

    `takes_over_from` are the releases from which Slurm allows the step; any other step would lose the queue and leave
    the database unread.
    """
    state = look(Packages, "the installed packages of Slurm", packages=list(PACKAGES))
    for package, installed in sorted(state.installed.items()):
        release = release_of(installed)
        if release != version:
            raise Refused(why_not(package, release, version, takes_over_from))
    this_host().noop(f"Slurm {version}, or none yet")


def why_not(package: str, release: str, version: str, takes_over_from: list[str]) -> str:
    """Return why a node whose package is of a release is not taken for one of a version, and what to do."""
    here = f"{package} is of Slurm {release}, but slurm.version is {version}"
    if release in takes_over_from:
        return f"{here}: run gpupool upgrade, which keeps to Slurm's order ({_HOW})"
    if number(release) > number(version):
        return f"{here}: Slurm cannot be downgraded once its database is converted; correct slurm.version ({_HOW})"
    return (
        f"{here}: Slurm {version} can only take over from {', '.join(takes_over_from)}; upgrade to one of them ({_HOW})"
    )
