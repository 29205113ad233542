"""A QoS: its entry, the users who may use it, and the partitions that accept it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from gpupool.cluster.complaints import Path, Place
from gpupool.cluster.explain.values import Value, entry_values, listed, nearest
from gpupool.cluster.model import Cluster
from gpupool.cluster.resolve.site import Site

_NAMED = 10  # users; more are counted


def of_qos(cluster: Cluster, site: Site, places: Mapping[Path, Place], name: str) -> Iterator[Value]:
    """Yield the values of a QoS with their lines."""
    path = site.as_written(("qos", name))
    yield from entry_values(cluster.qos[name], path, places, {})
    day = datetime.now(UTC).date()
    users = [
        user.name
        for user in cluster.users.values()
        if not user.ended_on(day) and any(name in user.qos_on(day, account) for account in user.accounts)
    ]
    more = f" and {len(users) - _NAMED} more" if len(users) > _NAMED else ""
    yield Value("may use it", f"{listed(users[:_NAMED])}{more}", nearest((*path, "everybody"), places))
    for at, partition in site.partitions():
        for each, _ in site.partition_names(partition):
            if each in cluster.partitions and cluster.partitions[each].entry.allows_qos(name):
                yield Value("partition", each, nearest((*at, "qos"), places))
