"""Check `slurm.packages: site`: gpupool manages Slurm's files and accounting alone, in the folders of that Slurm."""

from collections.abc import Iterator

from gpupool.cluster.checks.release import OF_SLURM
from gpupool.cluster.complaints import Complaint
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.site import Site

_MANAGED = frozenset(("slurm", "accounts"))


def ensure_slurm_of_the_site_has_no_other_roles(site: Site) -> Iterator[Complaint]:
    """Where the site has installed Slurm, gpupool manages no other role: others count on the distribution's Slurm."""
    if site.inventory.slurm.packages != "site":
        return
    whole = [
        node
        for node in site.node_table.nodes
        if node.entry.managed and OF_SLURM & {*node.entry.roles} and not {*site.managed_roles(node.entry)} <= _MANAGED
    ]
    if whole:
        message = f"site: gpupool would manage more than slurm and accounts on {listed([node.name for node in whole])}"
        yield Complaint(("slurm", "packages"), message, "write cluster: {manage: [slurm, accounts]}")


def ensure_places_of_slurm_are_of_its_packages(site: Site) -> Iterator[Complaint]:
    """`prefix` and `etc` are of a Slurm that the site has installed, and `repository` is of any other."""
    slurm = site.inventory.slurm
    of_site = slurm.packages == "site"
    for name in ("repository",) if of_site else ("prefix", "etc"):
        if name in slurm.model_fields_set:
            hint = "remove it" if of_site else "write packages: site, or remove it"
            yield Complaint(("slurm", name), f"has no effect with slurm.packages: {slurm.packages}", hint)
