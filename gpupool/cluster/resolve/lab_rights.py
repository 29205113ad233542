"""The nodes where each lab has rights, and how much jobs that are not preempted may hold there."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf

from gpupool.cluster.resolve.ownership import CPUS, Owner
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Account, Amounts, Partition

ANY = "gpu"  # GPUs of any type; other resources are GPU types, and CPUS

Nodes = frozenset[str]


def rights(owner: Owner) -> Iterator[str]:
    """Yield the resources that an owner has a right to in the pool: GPUs of any type, of one type, and CPUs."""
    if owner.number:
        yield ANY
    yield from (gpu for gpu, count in owner.types.items() if count)
    if owner.cpus:
        yield CPUS


def owned(owner: Owner, resource: str) -> int:
    """Return how much of a resource an owner has a right to in the pool."""
    return {ANY: owner.gpus, CPUS: owner.cpus or 0}.get(resource, owner.types.get(resource, 0))


@dataclass(frozen=True, eq=False)
class LabRights:
    """The rights and limits of all labs of a site; results are cached."""

    site: Site

    @classmethod
    def of(cls, site: Site) -> "LabRights":
        """Return the LabRights of a site, the same object for every check."""
        kept = site.shared_results.setdefault(cls, cls(site))
        assert isinstance(kept, cls)
        return kept

    @cached_property
    def computable(self) -> bool:
        """Whether rights can be computed: false if names or selectors are wrong, about which other checks complain."""
        table = self.site.node_table
        try:
            for _, partition in self.site.partitions():
                table.select(partition.nodes)
        except ValueError:
            return False
        ends = all(self._chain(account)[-1].parent not in self._accounts for account in self._accounts.values())
        return ends and len(table.by_name) == len(table.nodes)

    @cached_property
    def pool(self) -> Nodes:
        """Compute nodes that no lab owns."""
        compute = (node.name for node in self.site.node_table.nodes if "compute" in node.entry.roles)
        return frozenset(compute) - self.site.ownership.of_nodes.keys()

    @cached_property
    def _accounts(self) -> dict[str, Account]:
        return {account.name: account for account in self.site.inventory.accounts}

    @cached_property
    def _owners(self) -> dict[str, Owner]:
        return {owner.name: owner for owner in self.site.ownership.owners}

    @cached_property
    def _below(self) -> dict[str | None, list[Account]]:
        below: dict[str | None, list[Account]] = {}
        for account in self._accounts.values():
            above = account.parent if account.parent in self._accounts else None
            below.setdefault(above, []).append(account)
        return below

    def partitions_without_preemption(self, account: str) -> list[Partition]:
        """Return the partitions that admit an account and do not preempt its jobs."""
        return [
            entry
            for _, entry in self.site.partitions()
            if not self.site.is_preempted(entry) and self.site.admits(entry, account)
        ]

    def nodes_without_preemption(self, account: str) -> Nodes:
        """Return the nodes of the partitions that admit an account and do not preempt its jobs."""
        selectors = frozenset(partition.nodes for partition in self.partitions_without_preemption(account))
        if selectors not in self._reached:
            self._reached[selectors] = frozenset().union(*map(self.site.nodes_of, selectors))
        return self._reached[selectors]

    @cached_property
    def _reached(self) -> dict[frozenset[str], Nodes]:
        return {}

    def pool_nodes(self, owner: Owner, resource: str) -> Nodes:
        """Return the nodes of the pool where an owner may use what it has a right to."""
        reached = self.nodes_without_preemption(owner.name)
        if (reached, resource) not in self._pool_nodes:
            self._pool_nodes[reached, resource] = frozenset(
                node for node in reached & self.pool if self._on(node, resource)
            )
        return self._pool_nodes[reached, resource]

    def nodes_of(self, owner: Owner) -> Nodes:
        """Return the nodes where an owner has any right: its own, and those of `pool_nodes`."""
        return owner.nodes.union(*(self.pool_nodes(owner, resource) for resource in rights(owner)))

    @cached_property
    def nodes_with_rights(self) -> Nodes:
        """The nodes where any lab has a right; all compute nodes if that cannot be computed."""
        owners = self.site.ownership.owners
        if not self.computable and owners:
            nodes = self.site.node_table.nodes
            return frozenset(node.name for node in nodes if "compute" in node.entry.roles)
        return frozenset[str]().union(*map(self.nodes_of, owners))

    @cached_property
    def _pool_nodes(self) -> dict[tuple[Nodes, str], Nodes]:
        return {}

    def amount(self, nodes: Nodes, resource: str) -> int:
        """Return how much of a resource nodes have for jobs: GPUs, or logical CPUs."""
        return sum(self._on(node, resource) for node in nodes)

    def _on(self, node: str, resource: str) -> int:
        entry = self.site.node_table.by_name[node].entry
        if resource == CPUS:
            shape = self.site.inventory.hardware.get(entry.hardware or "")
            return shape.job_cpus if shape else 0
        return sum(entry.gpus.values()) if resource == ANY else entry.gpus.get(resource, 0)

    def _group(self, account: Account) -> Amounts:
        owner = self._owners.get(account.name)
        return self.site.ownership.limits(owner) if owner else account.limits.group

    def limit(self, account: Account, resource: str) -> float:
        """Return the maximum of a resource that the account's own limit allows; infinity without a limit."""
        group = self._group(account)
        amounts = (
            [group.cpu] if resource == CPUS else [group.gpu, *([] if resource == ANY else [group.gpus.get(resource)])]
        )
        return min((amount for amount in amounts if amount is not None), default=inf)

    def _chain(self, account: Account) -> list[Account]:
        names = self.site.with_parents(account.name)
        return [self._accounts[name] for name in names if name in self._accounts]

    def belongs(self, account: Account, lab: str) -> bool:
        """Return whether an account is the lab's account, or below it."""
        return lab in self.site.with_parents(account.name)

    def capped(self, account: Account, resource: str) -> bool:
        """Return whether an account, or one above it, has a limit on a resource."""
        return any(self.limit(each, resource) < inf for each in self._chain(account))

    def most_held(self, where: Nodes, resource: str) -> float:
        """Return how much of a resource jobs may hold on these nodes without preemption; infinity without a limit."""
        return sum(self._held(account, where, resource)[0] for account in self._below.get(None, []))

    def _held(self, account: Account, where: Nodes, resource: str) -> tuple[float, Nodes]:
        """Return how much an account and the accounts below it may hold, and on which of the nodes."""
        below = [self._held(child, where, resource) for child in self._below.get(account.name, [])]
        mine = self.nodes_without_preemption(account.name) & where
        reached = mine.union(*(nodes for _, nodes in below))
        held = (inf if mine else 0) + sum(amount for amount, _ in below)
        limit, types = self.limit(account, resource), self._group(account).gpus
        if resource == ANY and types:
            limit = min(limit, sum(min(types.get(gpu, inf), self.amount(reached, gpu)) for gpu in self._types))
        return (held if limit == inf else min(held, limit, self.amount(reached, resource))), reached

    @property
    def _types(self) -> tuple[str, ...]:
        return self.site.ownership.gpu_types
