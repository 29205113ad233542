"""The effective values of a node, partition, account, user or QoS, each with the inventory line that sets it."""

from collections.abc import Iterator, Mapping

from gpupool.cluster.complaints import Path, Place
from gpupool.cluster.explain.qos import of_qos
from gpupool.cluster.explain.user import of_user
from gpupool.cluster.explain.values import Explained, Value, cap_of, entry_values, listed, nearest
from gpupool.cluster.load import Loaded
from gpupool.cluster.model import Cluster
from gpupool.cluster.own_hardware import base_of, keys_of
from gpupool.cluster.resolve.outages import described, suspended
from gpupool.cluster.resolve.site import Site


def explain(loaded: Loaded, name: str) -> list[Explained]:
    """Return the node, partition, account, user and QoS with this name; an empty list if there is none."""
    if loaded.cluster is None or loaded.site is None:
        return []
    explained = []
    for kind, known, of in (
        ("node", loaded.cluster.nodes, _node),
        ("partition", loaded.cluster.partitions, _partition),
        ("account", loaded.cluster.accounts, _account),
        ("user", loaded.cluster.users, of_user),
        ("QoS", loaded.cluster.qos, of_qos),
    ):
        if name in known:
            explained.append(Explained(kind, name, tuple(of(loaded.cluster, loaded.site, loaded.places, name))))
    return explained


def names(loaded: Loaded) -> list[str]:
    """Return the names of all nodes, partitions, accounts, users and QoS."""
    cluster = loaded.cluster
    if cluster is None:
        return []
    return [*cluster.nodes, *cluster.partitions, *cluster.accounts, *cluster.users, *cluster.qos]


def _node(cluster: Cluster, site: Site, places: Mapping[Path, Place], name: str) -> Iterator[Value]:
    node, expanded = cluster.nodes[name], site.node_table.by_name[name]
    entry, path = expanded.entry, expanded.path
    own = {"name": name, **({"address": node.address} if node.address else {})}
    if node.addresses:
        own["addresses"] = ", ".join(f"{network}: {address}" for network, address in node.addresses.items())
    base = base_of(entry.hardware)
    yield from entry_values(entry.model_copy(update={"hardware": base}), path, places, own)
    if base is not None:
        values = entry_values(site.inventory.hardware[base], ("hardware", base), places, {}, "hardware.")
        yield from (value for value in values if value.key.split(".")[1] not in keys_of(entry))
    if entry.hardware is not None:
        reserve = nearest(("slurm", "memory_reserve"), places) if "slurm" in site.inventory.model_fields_set else None
        yield Value("RealMemory", f"{node.memory}M", reserve)
    if node.features:
        yield Value("Feature", ", ".join(node.features), nearest((*path, "features"), places))
    for index, outage in enumerate(site.inventory.out_of_service):
        if name in site.nodes_of(outage.nodes):
            yield Value("out_of_service", described(outage), nearest(("out_of_service", index), places))
    for at, partition in site.partitions():
        for each, _ in site.partition_names(partition):
            if name in site.nodes_of(partition.nodes):
                yield Value("partition", each, nearest((*at, "nodes"), places))


def _partition(cluster: Cluster, site: Site, places: Mapping[Path, Place], name: str) -> Iterator[Value]:
    partition = cluster.partitions[name]
    path, entry, account = next(
        (path, entry, account)
        for path, entry in site.partitions()
        for each, account in site.partition_names(entry)
        if each == name
    )
    yield from entry_values(entry, path, places, {"name": name}, account=account)
    if partition.preemptable and not entry.preemptable:
        yield Value("preemptable", "by its QoS", nearest((*path, "qos"), places))
    elif partition.preemptable and entry.preempt_action is None:
        yield Value("preempt_action", partition.action, nearest(("preemption", "action"), places))
    gpus = sum(cluster.nodes[node].gpu_count for node in partition.nodes)
    cpus = sum(cluster.nodes[node].cpus for node in partition.nodes)
    out = sum(cluster.nodes[node].all_gpu_count for node in partition.nodes) - gpus
    more = f" ({out} more out of service)" if out else ""
    has = f"{len(partition.nodes)} nodes, {gpus} GPUs{more}, {cpus} CPUs"
    yield Value("has", has, nearest((*path, "nodes"), places))
    admitted = [account for account in cluster.accounts if cluster.admits(partition, account)]
    key = next((key for key in ("allow_accounts", "deny_accounts") if (*path, key) in places), None)
    yield Value("accounts", listed(admitted), nearest((*path, key), places) if key else None)


def _account(cluster: Cluster, site: Site, places: Mapping[Path, Place], name: str) -> Iterator[Value]:
    account = cluster.accounts[name]
    index, entry = next(
        (index, account) for index, account in enumerate(site.inventory.accounts) if account.name == name
    )
    path: Path = ("accounts", index)
    yield from entry_values(entry, path, places, {})
    yield from cap_of(account, path, places)
    for part in suspended(site):
        if name in part.labs:
            yield Value("suspended", str(part), nearest(("out_of_service",), places))
    if own := cluster.qos_of(name):
        yield Value("default QoS", own, nearest(site.as_written(("qos", own, "default_for")), places))
    elif default := next((other for other, qos in cluster.qos.items() if qos.default), None):
        yield Value("default QoS", default, nearest(("qos", default, "default"), places))
    above = account.parent
    while above in cluster.accounts:
        at = next(index for index, account in enumerate(site.inventory.accounts) if account.name == above)
        for value in entry_values(
            site.inventory.accounts[at].limits, ("accounts", at, "limits"), places, {}, f"{above}.limits."
        ):
            if value.place is not None:
                yield value
        above = cluster.accounts[above].parent
    members = [user for user in cluster.users.values() if name in user.accounts]
    yield Value("members", str(len(members)), places.get((*path, "members")))
    for at_path, partition in site.partitions():
        for each, _ in site.partition_names(partition):
            if name in cluster.accounts and cluster.admits(cluster.partitions[each], name):
                key = "allow_accounts" if partition.allow_accounts else "name"
                yield Value("partition", each, nearest((*at_path, key), places))
