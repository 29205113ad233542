"""Check that priorities within a tier have an effect."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.site import Site


def ensure_priorities_count(site: Site) -> Iterator[Complaint]:
    """If partitions or QoS have a priority, its weight is set; a weight is set only if it has an effect."""
    inventory, weights = site.inventory, site.inventory.scheduler.priority_weights
    here: Path = ("scheduler", "priority_weights")
    of_partitions = next((path for path, entry in site.partitions() if entry.priority), None)
    of_qos = next((("qos", name) for name, qos in inventory.qos.items() if qos.priority), None)
    for key, path in (("partition", of_partitions), ("qos", of_qos)):
        if path and not getattr(weights, key):
            message = f"scheduler.priority_weights.{key} is 0: this has no effect"
            yield Complaint((*path, "priority"), message, "set a weight", "warning")
    given = weights.model_fields_set
    if "partition" in given and weights.partition and not of_partitions:
        yield Complaint((*here, "partition"), "no partition has a priority", "set `priority` of some", "warning")
    if "fairshare" in given and weights.fairshare and inventory.scheduler.fairshare == "none":
        yield Complaint((*here, "fairshare"), "scheduler.fairshare is none", "set it to accounts", "warning")
