"""Check the release of Slurm: tests run it, and somebody fixes its security holes."""

from collections.abc import Iterator
from datetime import date

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.near import misspelt
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.site import Site
from gpupool.slurm.releases import KNOWN, TESTED
from gpupool.slurm.support import SOURCE, UNTIL, has_ended

_VERSION: Path = ("slurm", "version")
#: The roles of nodes with a part of Slurm.
OF_SLURM = frozenset({"head", "controller", "backup-controller", "database", "compute"})


def ensure_release_is_rehearsed(site: Site) -> Iterator[Complaint]:
    """Warn of a release that no test of gpupool runs, and that `rehearse` cannot run."""
    version = site.inventory.slurm.version
    if version not in TESTED:
        message = f"gpupool is not rehearsed with Slurm {version}: it knows the keys, but no test runs it"
        hint = f"for example `gpupool rehearse --slurm {TESTED[-1]}` tries the inventory with another release"
        yield Complaint(_VERSION, message, hint, "warning")


def ensure_default_release_is_the_distributions(site: Site) -> Iterator[Complaint]:
    """Warn if the release is the default one, and the distribution ships another: its Slurm would get wrong keys."""
    slurm = site.inventory.slurm
    if "version" in slurm.model_fields_set:
        return
    if slurm.packages != "distribution":
        where = "in slurm.repository" if slurm.packages == "schedmd" else "that the nodes have"
        hint = f"set it to the release {where}"
        yield Complaint(_VERSION, f"is {slurm.version} by default", hint, "warning", missing=True)
        return
    for system, _ in site.systems:
        if system.slurm == slurm.version:
            continue
        message = f"is {slurm.version} by default, but {system} ships Slurm {system.slurm}"
        own = f"set it to '{system.slurm}', or" if system.slurm in KNOWN else f"gpupool does not know {system.slurm}:"
        hint = f"{own} set it to the release in a repository of yours, slurm.repository"
        yield Complaint(_VERSION, message, hint, "warning", missing=True)


def ensure_slurms_repositories_are_declared(site: Site) -> Iterator[Complaint]:
    """Each repository of slurm.repository is in software.repositories, and is that of a distribution with nodes."""
    declared = site.inventory.software.repositories
    names = {name for system, _ in site.systems for name in (system.label, system.key)}
    for key, repository in (site.inventory.slurm.repository or {}).items():
        path: Path = ("slurm", "repository", key) if key != "default" else ("slurm", "repository")
        if repository not in declared:
            near = misspelt(repository, declared)
            hint = f"did you mean {near[0]}?" if near else "add it to software.repositories"
            yield Complaint(path, f"there is no repository {repository!r}", hint)
        elif key not in names and key != "default":
            yield Complaint(path, f"no managed node has {key}", "remove it", "warning")


def ensure_packages_of_schedmd_have_a_repository(site: Site) -> Iterator[Complaint]:
    """Nodes with Slurm need a repository of SchedMD's packages, unless their sources are the site's."""
    slurm = site.inventory.slurm
    for system, nodes in site.systems if slurm.packages == "schedmd" else ():
        managed = [
            node.name
            for node in nodes
            if not OF_SLURM.isdisjoint(node.entry.roles) and {"base", "repositories"} <= site.managed_roles(node.entry)
        ]
        if managed and not slurm.repository_of(system):
            path: Path = ("slurm", "repository") if slurm.repository else ("slurm", "packages")
            message = f"{system} has no packages of SchedMD's, and {listed(managed)} no repository with them"
            hint = f"build them (docs/distributions.md), and write slurm: {{repository: {{{system.label}: NAME}}}}"
            yield Complaint(path, message, hint)


def ensure_release_is_supported(site: Site) -> Iterator[Complaint]:
    """Warn of a release past SchedMD's support, unless a distribution of the nodes ships it and so maintains it."""
    version, today = site.inventory.slurm.version, date.today()
    shipped = site.inventory.slurm.packages == "distribution" and any(
        system.slurm == version for system, _ in site.systems
    )
    if has_ended(version, today) and not shipped:
        message = f"SchedMD's support of Slurm {version} ended in {date(*UNTIL[version], 1):%B %Y} ({SOURCE})"
        current = [release for release in UNTIL if not has_ended(release, today)]
        hint = f"supported are {listed(current)}" if current else None
        yield Complaint(_VERSION, message, hint, "warning")
