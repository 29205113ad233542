"""The Site: an inventory with its nodes expanded, from which checks and the Cluster are computed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gpupool.cluster import own_hardware
from gpupool.cluster.complaints import Path
from gpupool.cluster.node_table import ExpandedNode, NodeTable
from gpupool.cluster.resolve.each_qos import keys_of_qos, with_each_qos
from gpupool.cluster.resolve.ownership import Ownership
from gpupool.cluster.resolve.partitions import ACCOUNT, partitions_of
from gpupool.cluster.resolve.pools import Placed, pools_on
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.labs import Account, Partition
from gpupool.cluster.schema.machines import Hardware, NodeEntry
from gpupool.cluster.schema.managed import ROLES
from gpupool.distributions.tables import Distribution, distribution
from gpupool.slurm.partitions import admits
from gpupool.slurm.releases import has


@dataclass(frozen=True)
class Site:
    """An inventory of the right shape, with its nodes expanded, and its files that are not YAML by `folder/name`.

    `written` is the inventory with the entries of its file.
    """

    written: Inventory
    node_table: NodeTable
    attached: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def shared_results(self) -> dict[object, object]:
        """Results that several checks share."""
        return {}

    @cached_property
    def inventory(self) -> Inventory:
        """The inventory with one QoS for each account in place of an entry of `qos` with `for_each`."""
        return with_each_qos(self.written, self._keys_of_qos)

    @cached_property
    def _keys_of_qos(self) -> dict[str, tuple[str, str]]:
        return keys_of_qos(self.written)

    def as_written(self, path: Path) -> Path:
        """Return the path in the file of a path in `inventory`.

        An account's QoS may be in one for all accounts, and a node's hardware in the node's entry.
        """
        if path[:1] == ("qos",) and len(path) > 1 and path[1] in self._keys_of_qos:
            return ("qos", self._keys_of_qos[str(path[1])][0], *path[2:])
        return own_hardware.as_written(self.inventory, path)

    def system_of(self, entry: NodeEntry) -> Distribution:
        """Return the distribution of the nodes of an entry: its own, else its hardware's, else software's.

        Its packages are those of the hardware's architecture.
        """
        shape = self.inventory.hardware.get(entry.hardware or "")
        own = entry.distribution or (shape and shape.distribution)
        system = distribution(own) if own else self.inventory.software.system
        return system.on(shape.arch if shape else None)

    @cached_property
    def systems(self) -> list[tuple[Distribution, list[ExpandedNode]]]:
        """Each distribution of managed nodes with these, in inventory order."""
        found: dict[str, tuple[Distribution, list[ExpandedNode]]] = {}
        for node in self.node_table.nodes:
            if node.entry.managed:
                system = self.system_of(node.entry)
                found.setdefault(system.key, (system, []))[1].append(node)
        return list(found.values())

    def path_of_system(self, node: ExpandedNode) -> Path:
        """Return the path of the key that sets a node's distribution, or that could."""
        shape = self.inventory.hardware.get(node.entry.hardware or "")
        if node.entry.distribution:
            return (*node.path, "distribution")
        if node.entry.hardware and shape and shape.distribution:
            return ("hardware", node.entry.hardware, "distribution")
        return ("software", "distribution")

    def accounts_of_kind(self, kind: str) -> list[Account]:
        """Return the accounts of a kind, in inventory order."""
        return [account for account in self.inventory.accounts if account.kind == kind]

    def managed_roles(self, entry: NodeEntry) -> frozenset[str]:
        """Return the roles that `manage` has for the nodes of an entry: its own, else the cluster's, else all."""
        return frozenset(entry.manage) if entry.manage else self._managed_by_default

    @cached_property
    def _managed_by_default(self) -> frozenset[str]:
        return frozenset(self.inventory.cluster.manage or ROLES)

    @cached_property
    def roles_somewhere(self) -> frozenset[str]:
        """The roles that `manage` has for any node, also where gpupool does not log in yet."""
        return frozenset[str]().union(*(self.managed_roles(entry) for entry in self.inventory.nodes))

    @cached_property
    def ownership(self) -> Ownership:
        """All labs with what they own."""
        return Ownership(self.inventory, self.node_table)

    @cached_property
    def account_names(self) -> set[str]:
        """The names of all accounts."""
        return {account.name for account in self.inventory.accounts}

    def partition_names(self, partition: Partition) -> list[tuple[str, str | None]]:
        """Return the (name, account) of each partition that an entry defines."""
        if partition.for_each is None or ACCOUNT not in partition.name:
            return [(partition.name, None)]
        return [
            (partition.name.replace(ACCOUNT, account.name), account.name)
            for account in self.accounts_of_kind(partition.for_each)
        ]

    def partitions(self) -> Iterator[tuple[Path, Partition]]:
        """Yield each partition entry with its path; if nodes or QoS are each account's own, once per account."""
        yield from self._partitions

    @cached_property
    def _partitions(self) -> tuple[tuple[Path, Partition], ...]:
        return tuple(partitions_of(self.inventory))

    @cached_property
    def machines(self) -> list[tuple[NodeEntry, Hardware, int]]:
        """Each kind of compute node with GPUs, once: its first entry, its hardware, its number of GPUs."""
        kinds: dict[tuple[object, ...], tuple[NodeEntry, Hardware, int]] = {}
        for entry in self.inventory.nodes:
            shape, gpus = self.inventory.hardware.get(entry.hardware or ""), sum(entry.gpus.values())
            if shape and gpus and "compute" in entry.roles:
                kinds.setdefault(self._kind(entry), (entry, shape, gpus))
        return list(kinds.values())

    @cached_property
    def divisible_machines(self) -> list[tuple[NodeEntry, Hardware, int]]:
        """The `machines` of which jobs may use a part: all except those in exclusive partitions only."""
        whole, parts = set[str](), set[str]()
        for _, partition in self.partitions():
            (whole if partition.exclusive else parts).update(self.nodes_of(partition.nodes))
        by_name = self.node_table.by_name
        alone = {self._kind(by_name[name].entry) for name in whole} - {
            self._kind(by_name[name].entry) for name in parts
        }
        return [machine for machine in self.machines if self._kind(machine[0]) not in alone]

    @staticmethod
    def _kind(entry: NodeEntry) -> tuple[object, ...]:
        return (entry.hardware, *entry.gpus.items())

    def gpus_of(self, selectors: frozenset[str]) -> int | None:
        """Return the GPUs of all nodes of the selectors; None if a selector is invalid or a node is defined twice."""
        if selectors not in self._gpus:
            try:
                names = {name for selector in selectors for name in self.node_table.select(selector)}
            except ValueError:
                return None  # a check complains about it
            by_name = self.node_table.by_name
            whole = len(by_name) == len(self.node_table.nodes)  # otherwise a node is defined twice
            self._gpus[selectors] = sum(sum(by_name[name].entry.gpus.values()) for name in names) if whole else None
        return self._gpus[selectors]

    @cached_property
    def _gpus(self) -> dict[frozenset[str], int | None]:
        return {}

    @cached_property
    def with_gpus(self) -> frozenset[str]:
        """Names of the compute nodes with GPUs."""
        nodes = self.node_table.nodes
        return frozenset(node.name for node in nodes if "compute" in node.entry.roles and any(node.entry.gpus.values()))

    def pool(self, selectors: frozenset[str]) -> dict[str, int]:
        """Return the sum of resources of the selectors' nodes, by the keys of a limit; memory is nominal."""
        if selectors not in self._pools:
            self._pools[selectors] = self._pool(selectors)
        return self._pools[selectors]

    @cached_property
    def _pools(self) -> dict[frozenset[str], dict[str, int]]:
        return {}

    def _pool(self, selectors: frozenset[str]) -> dict[str, int]:
        try:
            names = {name for selector in selectors for name in self.node_table.select(selector)}
        except ValueError:
            return {}  # a check complains about it
        entries = [self.node_table.by_name[name].entry for name in names]
        shapes = [shape for entry in entries if (shape := self.inventory.hardware.get(entry.hardware or ""))]
        return {
            "gpu": sum(sum(entry.gpus.values()) for entry in entries),
            "cpu": sum(shape.job_cpus for shape in shapes),
            "mem": sum(shape.nominal_memory for shape in shapes),
            "nodes": len(entries),
        }

    def nodes_of(self, selector: str | None) -> frozenset[str]:
        """Return the nodes of a selector; empty if it is None, or invalid."""
        if selector not in self._nodes_of:
            try:
                self._nodes_of[selector] = frozenset(self.node_table.select(selector) if selector else ())
            except ValueError:
                self._nodes_of[selector] = frozenset()  # a check complains about it
        return self._nodes_of[selector]

    @cached_property
    def _nodes_of(self) -> dict[str | None, frozenset[str]]:
        return {}

    @cached_property
    def pool_nodes(self) -> tuple[str, ...]:
        """One node for each set of ZFS pools: the first in inventory order that has them."""
        first: dict[tuple[str, ...], str] = {}
        for name in self.node_table.by_name if self.inventory.storage.pools else ():
            if pools := self.pools_on(name):
                first.setdefault(tuple(pool.key for pool in pools), name)
        return tuple(first.values())

    def pools_on(self, node: str) -> tuple[Placed, ...]:
        """Return the ZFS pools of a node."""
        return pools_on(self.inventory.storage, node, self.nodes_of)

    def is_preempted(self, partition: Partition) -> bool:
        """Return whether all jobs of a partition may be preempted: by its tier, or by each QoS that it allows."""
        qos = self.inventory.qos
        named = [name in qos and qos[name].preemptable for name in partition.qos]
        return partition.preemptable or (bool(named) and all(named))

    def admits(self, partition: Partition, account: str) -> bool:
        """Return whether an account may submit to a partition."""
        each = self._each(partition)
        allowed = {name.replace(ACCOUNT, other) for name in partition.allow_accounts for other in each}
        if partition.allow_accounts and partition.allow_lab_accounts:
            allowed |= {lab.name for lab in self.accounts_of_kind("lab")}
        if partition.allow_accounts and not allowed:
            return False  # for_each without accounts: the partition does not exist
        return admits(self._line(account), allowed, partition.deny_accounts)

    def admitted(self, partition: Partition) -> list[Account]:
        """Return the accounts that may submit to a partition, in inventory order."""
        return [account for account in self.inventory.accounts if self.admits(partition, account.name)]

    def _line(self, account: str) -> frozenset[str]:
        """Return an account and, if AllowAccounts of this Slurm includes them, its ancestors."""
        if not has(self.inventory.slurm.version, "hierarchical AllowAccounts"):
            return frozenset((account,))
        return frozenset(self.with_parents(account))

    def with_parents(self, account: str) -> tuple[str, ...]:
        """Return the names of an account and its ancestors, nearest first; each once, even in a cycle."""
        if account not in self._with_parents:
            names: dict[str, None] = {}
            here: str | None = account
            while here and here not in names:
                names[here] = None
                here = self._parents.get(here)
            self._with_parents[account] = tuple(names)
        return self._with_parents[account]

    @cached_property
    def _with_parents(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def _parents(self) -> dict[str, str | None]:
        return {account.name: account.parent for account in self.inventory.accounts}

    @cached_property
    def own_qos(self) -> dict[str, str]:
        """The default QoS of each account that has one (`default_for`)."""
        qos = self.inventory.qos
        return {account: name for name, entry in reversed(qos.items()) for account in entry.default_for}

    @cached_property
    def _default_qos(self) -> str:
        return next((name for name, entry in self.inventory.qos.items() if entry.default), "normal")

    def default_qos(self, partition: Partition, account: str) -> str:
        """Return the QoS of an account's jobs without --qos: the account's, the partition's or the cluster's."""
        return self.own_qos.get(account, partition.default_qos or self._default_qos)

    def default_qos_in(self, partition: Partition) -> frozenset[str]:
        """Return the QoS that jobs without --qos may have in a partition."""
        return frozenset((partition.default_qos or self._default_qos, *self.own_qos.values()))

    def _each(self, partition: Partition) -> list[str]:
        return [account or "" for _, account in self.partition_names(partition)]
