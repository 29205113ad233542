"""Check partitions with exclusive nodes: jobs run alone there, and labs can still use what they own."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.ownership import CPUS, Owner
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.resolve.stakes import ANY, Nodes, Stakes, owned, rights
from gpupool.cluster.schema.labs import Partition

_KEYS = ("oversubscribe", "shared")


def ensure_whole_nodes_are_not_shared(site: Site) -> Iterator[Complaint]:
    """A partition with `exclusive` does not also set OverSubscribe."""
    for path, partition in site.partitions():
        for key in partition.parameters if partition.exclusive else ():
            if key.lower() in _KEYS:
                yield Complaint((*path, "parameters", key), "contradicts exclusive", "keep one of the two")


def ensure_nodes_of_one_user_are_no_labs(site: Site) -> Iterator[Complaint]:
    """No lab has a right to nodes with `exclusive: user`, where a job blocks GPUs that no limit counts."""
    stakes = Stakes.of(site)
    for path, partition in site.partitions() if stakes.certain else ():
        if partition.exclusive != "user":
            continue
        nodes = site.nodes_of(partition.nodes)
        admitted = site.admitted(partition)
        for owner in site.ownership.owners:
            guests = [account.name for account in admitted if not stakes.belongs(account, owner.name)]
            at_stake = nodes & stakes.nodes_of(owner)
            shared = sorted(node for node in at_stake if stakes.amount(frozenset((node,)), ANY) > 1)
            if guests and shared:
                message = (
                    f"a user of {guests[0]} with a job on one GPU of {shared[0]} keeps its other GPUs from {owner.name}"
                )
                hint = "set exclusive: job, where all of them count, or name nodes that no lab has a right to"
                yield Complaint((*path, "exclusive"), message, hint)
                break


def ensure_labs_find_whole_nodes(site: Site) -> Iterator[Complaint]:
    """A lab whose jobs take whole nodes can use all that it owns, whatever jobs of others run there."""
    stakes = Stakes.of(site)
    for owner in site.ownership.owners if stakes.certain else ():
        lasting = stakes.lasting(owner.name)
        if not lasting or any(partition.exclusive != "job" for partition in lasting):
            continue  # it has a partition for parts of nodes
        for resource in rights(owner):
            if resource != CPUS:
                yield from _whole(site, owner, resource, stakes.at_stake(owner, resource), lasting)


def _whole(site: Site, owner: Owner, resource: str, nodes: Nodes, lasting: list[Partition]) -> Iterator[Complaint]:
    stakes, own = Stakes.of(site), owned(owner, resource)
    sizes = sorted({stakes.amount(frozenset((node,)), resource) for node in nodes})
    if len(sizes) > 1 or (sizes and own % sizes[0]):
        of = "" if resource == ANY else f"{resource} "
        partitions = listed([partition.name for partition in lasting])
        message = (
            f"{owner.name} may not get the {own} {of}GPUs it owns: its jobs in {partitions} "
            f"take whole nodes of {' or '.join(map(str, sizes))}"
        )
        yield Complaint(("accounts", owner.index), message, "open a partition without exclusive to it", "warning")
    beside = [shared.name for shared in _parted(site, owner) if site.nodes_of(shared.nodes) & nodes]
    if beside and sizes[-1] > 1:
        message = f"jobs on parts of nodes in {listed(beside)} may keep {owner.name} from whole nodes"
        hint = "set exclusive: job there, too, or open a partition without exclusive to it"
        yield Complaint(("accounts", owner.index), message, hint, "warning")


def _parted(site: Site, owner: Owner) -> Iterator[Partition]:
    """Yield the partitions where jobs of other accounts use parts of nodes and are not preempted."""
    stakes = Stakes.of(site)
    others = [account.name for account in site.inventory.accounts if not stakes.belongs(account, owner.name)]
    for _, partition in site.partitions():
        shared = partition.exclusive is None and not site.is_preempted(partition)
        if shared and any(site.admits(partition, account) for account in others):
            yield partition
