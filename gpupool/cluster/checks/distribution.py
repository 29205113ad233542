"""Check the distribution of the nodes."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.site import Site


def ensure_distribution_is_proved(site: Site) -> Iterator[Complaint]:
    """Warn of a distribution on which no run of gpupool is known."""
    system = site.inventory.software.system
    if not system.proved:
        message = f"no run of gpupool on {system} is known: names of packages and units are from {system.name}'s pages"
        hint = "try it on a node that you can spare, and report what happened: docs/distributions.md"
        yield Complaint(("software", "distribution"), message, hint, "warning")


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
