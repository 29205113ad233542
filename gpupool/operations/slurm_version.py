"""Refuse a node whose release of Slurm is not the one for which its new files are."""

from gpupool.facts.packages import Packages
from gpupool.facts.slurm_of_site import SiteSlurm
from gpupool.facts.slurm_packages import release_of
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Refused, look, operation
from gpupool.slurm.releases import TESTED, number
from gpupool.slurm.upgrades import hops

_HOW = "see docs/upgrade.md"


@operation
def refuse_another(version: str, packages: list[str], takes_over_from: list[str]) -> None:
    """Fail if one of these packages has another release of Slurm than `version`, before anything is changed.

    `takes_over_from` are the releases from which Slurm can be upgraded; with any other, it would lose the queue and
    not read the database.
    """
    state = look(Packages, "the installed packages of Slurm", packages=packages)
    for package, installed in sorted(state.installed.items()):
        release = release_of(installed)
        if release != version:
            raise Refused(why_not(package, release, version, takes_over_from))
    this_host().noop(f"Slurm {version}, or none yet")


@operation
def refuse_another_of_site(version: str, prefix: str, conf: str) -> None:
    """Fail if the site's own Slurm below `prefix` is missing, has another release, or reads another slurm.conf."""
    found = look(SiteSlurm, "the Slurm of the site", prefix=prefix, conf=conf)
    if not found.version:
        raise Refused(
            f"there is no Slurm in {prefix}: correct slurm.prefix, or install Slurm there (slurm.packages: site)"
        )
    release = release_of(found.version)
    if release != version:
        raise Refused(f"the Slurm in {prefix} is {release}, but slurm.version is {version}: correct slurm.version")
    if found.reads:
        raise Refused(f"slurmctld reads {found.reads}, and gpupool would write {conf}: correct slurm.etc")
    if not found.has_conf:
        raise Refused(f"there is no {conf}: correct slurm.etc, or put the site's slurm.conf there first")
    this_host().noop(f"Slurm {found.version} of the site")


def why_not(package: str, release: str, version: str, takes_over_from: list[str]) -> str:
    """Return why a node with a package of this release is refused for this version, and the solution."""
    here = f"{package} is of Slurm {release}, but slurm.version is {version}"
    if release in takes_over_from:
        return f"{here}: run gpupool upgrade, which keeps to Slurm's order ({_HOW})"
    if number(release) > number(version):
        return f"{here}: Slurm cannot be downgraded once its database is converted; correct slurm.version ({_HOW})"
    can = f"{here}: Slurm {version} can only take over from {', '.join(takes_over_from)}"
    way = hops(release, version)
    if not way:
        return f"{can}; no way there is known ({_HOW})"
    own = [hop for hop in way if hop not in TESTED]
    source = f"; packages of {' and '.join(own)} come from a repository of your own" if own else ""
    return f"{can}; upgrade to {', then to '.join(way)}{source} ({_HOW})"
