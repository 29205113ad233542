"""Check the distributions of the nodes: each is proved, and their releases of Slurm work together."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.site import Site
from gpupool.slurm.upgrades import READS_FROM, takes_over_from

_DATABASE, _CONTROLLERS, _OTHERS = ("database",), ("controller", "backup-controller"), ("compute", "head")
#: A daemon and the roles of its nodes, with the roles of the nodes whose Slurm it has to understand.
_PAIRS = (("slurmdbd", _DATABASE, _CONTROLLERS), ("slurmctld", _CONTROLLERS, _OTHERS))


def ensure_distribution_is_proved(site: Site) -> Iterator[Complaint]:
    """Warn of a distribution on which no run of gpupool is known."""
    for system, nodes in site.systems:
        if not system.proved:
            source = f"names of packages and units are from {system.name}'s pages"
            message = f"no run of gpupool on {system} is known: {source}"
            hint = "try it on a node that you can spare, and report what happened: docs/distributions.md"
            yield Complaint(site.path_of_system(nodes[0]), message, hint, "warning")


def ensure_releases_of_slurm_work_together(site: Site) -> Iterator[Complaint]:
    """Nodes of several distributions have releases of Slurm that work together.

    A daemon works with its own release, and with the older ones whose state it reads (doc/html/upgrades.shtml). With
    slurm.version written out, a repository of the site may have that release for all nodes: then it is a warning.
    SchedMD's packages have one release on all.
    """
    slurm = site.inventory.slurm
    for daemon, roles, others in _PAIRS if slurm.packages == "distribution" else ():
        for above, daemons in _with(site, roles):
            for below, nodes in _with(site, others):
                if below == above or below in _understood(above):
                    continue
                message = (
                    f"{listed(nodes)} would have Slurm {below} of {_title(site, nodes[0])}, which does not work with "
                    f"{daemon} {above} of {_title(site, daemons[0])} on {listed(daemons)}"
                )
                hint = f"it works with {listed([*_understood(above), above], 9)}; no other part of Slurm may be newer"
                path = site.path_of_system(site.node_table.by_name[nodes[0]])
                if "version" in slurm.model_fields_set:
                    hint = f"accept it if a repository of yours has Slurm {slurm.version} for the nodes without it"
                    yield Complaint(path, message, hint, "warning")
                else:
                    yield Complaint(path, message, hint)


def _with(site: Site, roles: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Return each release of Slurm that distributions ship, with the names of its managed nodes that have a role."""
    found: dict[str, list[str]] = {}
    for system, nodes in site.systems:
        names = [node.name for node in nodes if not {*roles}.isdisjoint(node.entry.roles)]
        found.setdefault(system.slurm, []).extend(names)
    return [(release, names) for release, names in found.items() if names]


def _understood(release: str) -> tuple[str, ...]:
    """Return the older releases that a release works with; none for a release that no table has."""
    return takes_over_from(release) if release in READS_FROM else ()


def _title(site: Site, node: str) -> str:
    return str(site.system_of(site.node_table.by_name[node].entry))


def ensure_keys_are_current(site: Site) -> Iterator[Complaint]:
    """No key has its former name, which a later version refuses (docs/stability.md)."""
    software = site.inventory.software
    if software.debian and software.distribution:
        yield Complaint(("software", "debian"), "is the former name of distribution", "remove it")
    elif software.debian:
        message = "is the former name of distribution, and ends with gpupool 0.3"
        yield Complaint(
            ("software", "debian"), message, f"write distribution: {software.system.label}", severity="warning"
        )
