"""The inventory's reservations as slurmctld must have them."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.schema import reservations as schema
from gpupool.slurm.hostlists import fold_set
from gpupool.wanted import Reservation

_EVERY = {None: "", "day": "DAILY", "weekday": "WEEKDAY", "weekend": "WEEKEND", "week": "WEEKLY"}


def reservations(cluster: Cluster) -> list[Reservation]:
    """Return the reservations in inventory order, without those with no node in this cluster (a testbed)."""
    return [made for entry in cluster.reservations if (made := _reservation(cluster, entry))]


def _reservation(cluster: Cluster, entry: schema.Reservation) -> Reservation | None:
    nodes = ""
    if entry.nodes:
        names = cluster.select(entry.nodes)
        # In inventory order, so that each run has the same list.
        nodes = fold_set(node.slurm_name for node in cluster.having("compute") if node.name in names)
        if not nodes:
            return None
    flags = {"MAINT": entry.maintenance, "IGNORE_JOBS": entry.ignore_jobs, "FLEX": entry.flex}
    only_root = not entry.accounts and not entry.users
    return Reservation(
        name=entry.name,
        start=entry.start.isoformat(),
        duration=entry.duration,
        every=_EVERY[entry.every],
        nodes=nodes,
        node_count=entry.node_count or 0,
        gpus={"": entry.gpu} if entry.gpu else dict(entry.gpus),
        partition=entry.partition or "",
        accounts=tuple(sorted(set(entry.accounts))),
        # slurmctld refuses a reservation without users and accounts.
        users=("root",) if only_root else tuple(sorted(set(entry.users))),
        flags=tuple(name for name, given in flags.items() if given),
        free_after=entry.free_after or 0,
    )
