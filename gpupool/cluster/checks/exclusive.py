"""Check partitions with exclusive nodes: jobs run alone there, and labs can still use what they own."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.lab_rights import ANY, LabRights, Nodes, owned, rights
from gpupool.cluster.resolve.ownership import CPUS, Owner
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Partition
from gpupool.slurm.booleans import YES
from gpupool.slurm.keys.tables import keys

_KEYS = ("oversubscribe", "shared")


def ensure_whole_nodes_are_not_shared(site: Site) -> Iterator[Complaint]:
    """A partition with `exclusive` does not also set OverSubscribe, nor ExclusiveTopo where Slurm has one for both.

    slurmctld 26.05: "Exclusive=USER ignored, since it's mutually exclusive with Exclusive=TOPO".
    """
    of_both = keys("partition")["exclusive"].known_in(site.inventory.slurm.version)
    for path, partition in site.partitions():
        for key, value in partition.parameters.items() if partition.exclusive else ():
            of_topology = key.lower() == "exclusivetopo" and value.lower() in YES
            if key.lower() in _KEYS or (of_topology and of_both and partition.exclusive == "user"):
                yield Complaint((*path, "parameters", key), "contradicts exclusive", "keep one of the two")


def ensure_nodes_of_one_user_are_no_labs(site: Site) -> Iterator[Complaint]:
    """No lab has a right to nodes with `exclusive: user`, where a job blocks GPUs that no limit counts."""
    lab_rights = LabRights.of(site)
    for path, partition in site.partitions() if lab_rights.computable else ():
        if partition.exclusive != "user":
            continue
        nodes = site.nodes_of(partition.nodes)
        admitted = site.admitted(partition)
        for owner in site.ownership.owners:
            guests = [account.name for account in admitted if not lab_rights.belongs(account, owner.name)]
            nodes_with_rights = nodes & lab_rights.nodes_of(owner)
            shared = sorted(node for node in nodes_with_rights if lab_rights.amount(frozenset((node,)), ANY) > 1)
            if guests and shared:
                message = (
                    f"a user of {guests[0]} with a job on one GPU of {shared[0]} keeps its other GPUs from {owner.name}"
                )
                hint = "set exclusive: job, where all of them count, or name nodes that no lab has a right to"
                yield Complaint((*path, "exclusive"), message, hint)
                break


def ensure_labs_find_whole_nodes(site: Site) -> Iterator[Complaint]:
    """A lab whose jobs take whole nodes can use all that it owns, whatever jobs of others run there."""
    lab_rights = LabRights.of(site)
    for owner in site.ownership.owners if lab_rights.computable else ():
        unpreempted = lab_rights.partitions_without_preemption(owner.name)
        if not unpreempted or any(partition.exclusive != "job" for partition in unpreempted):
            continue  # it has a partition for parts of nodes
        for resource in rights(owner):
            if resource != CPUS:
                yield from _whole(site, owner, resource, lab_rights.pool_nodes(owner, resource), unpreempted)


def _whole(site: Site, owner: Owner, resource: str, nodes: Nodes, unpreempted: list[Partition]) -> Iterator[Complaint]:
    lab_rights, own = LabRights.of(site), owned(owner, resource)
    sizes = sorted({lab_rights.amount(frozenset((node,)), resource) for node in nodes})
    if len(sizes) > 1 or (sizes and own % sizes[0]):
        of = "" if resource == ANY else f"{resource} "
        partitions = listed([partition.name for partition in unpreempted])
        message = (
            f"{owner.name} may not get the {own} {of}GPUs it owns: its jobs in {partitions} "
            f"take whole nodes of {' or '.join(map(str, sizes))}"
        )
        yield Complaint(("accounts", owner.index), message, "open a partition without exclusive to it", "warning")
    beside = [shared.name for shared in _partitions_for_parts(site, owner) if site.nodes_of(shared.nodes) & nodes]
    if beside and sizes[-1] > 1:
        message = f"jobs on parts of nodes in {listed(beside)} may keep {owner.name} from whole nodes"
        hint = "set exclusive: job there, too, or open a partition without exclusive to it"
        yield Complaint(("accounts", owner.index), message, hint, "warning")


def _partitions_for_parts(site: Site, owner: Owner) -> Iterator[Partition]:
    """Yield the partitions where jobs of other accounts use parts of nodes and are not preempted."""
    lab_rights = LabRights.of(site)
    others = [account.name for account in site.inventory.accounts if not lab_rights.belongs(account, owner.name)]
    for _, partition in site.partitions():
        shared = partition.exclusive is None and not site.is_preempted(partition)
        if shared and any(site.admits(partition, account) for account in others):
            yield partition
