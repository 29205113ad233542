"""Check the distribution of the nodes."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.resolve.site import Site


def ensure_keys_are_current(site: Site) -> Iterator[Complaint]:
    """No key has its former name, which a later version refuses (docs/stability.md)."""
    software = site.inventory.software
    if software.debian and software.distribution:
        yield Complaint(("software", "debian"), "is the former name of distribution", "remove it")
    elif software.debian:
        message = "is the former name of distribution, and ends with gpupool 0.2"
        yield Complaint(
            ("software", "debian"), message, f"write distribution: {software.system.label}", severity="warning"
        )
