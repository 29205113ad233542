"""Ownership of labs (a number of GPUs, GPUs by type, CPUs, or nodes), and the account limits that follow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gpupool.cluster.node_table import NodeTable
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.labs import Account, Amounts

CPUS = "cpu"  # a key of `owns`, beside names of GPU types


@dataclass(frozen=True)
class Owner:
    """A lab and what it owns: `number` GPUs of any type, GPUs by type and logical CPUs on any node, or whole nodes."""

    account: Account
    index: int
    number: int | None = None
    types: Mapping[str, int] = field(default_factory=dict)
    cpus: int | None = None
    nodes: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The account's name."""
        return self.account.name

    @property
    def shares(self) -> bool:
        """Whether it owns amounts in a pool instead of certain nodes, so that its account has a limit."""
        return not isinstance(self.account.owns, str)

    @property
    def gpus(self) -> int:
        """The number of GPUs that it owns in a pool."""
        return self.number or sum(self.types.values())


class Ownership:
    """The owners of an inventory, and the nodes of each."""

    def __init__(self, inventory: Inventory, node_table: NodeTable) -> None:
        self._inventory = inventory
        self._table = node_table

    @cached_property
    def owners(self) -> tuple[Owner, ...]:
        """All labs, in inventory order."""
        labs = ((index, account) for index, account in enumerate(self._inventory.accounts) if account.kind == "lab")
        return tuple(self._owner(index, account) for index, account in labs)

    def _owner(self, index: int, account: Account) -> Owner:
        owns = account.owns
        if owns is None:
            return Owner(account, index, number=account.contributed_gpus or 0)
        if isinstance(owns, str):
            try:
                return Owner(account, index, nodes=frozenset(self._table.select(owns)))
            except ValueError:
                return Owner(account, index)  # a check complains about it
        types = {name: count for name, count in owns.items() if name != CPUS}
        return Owner(account, index, types=types, cpus=owns.get(CPUS))

    @cached_property
    def of_nodes(self) -> Mapping[str, Owner]:
        """The owner of each owned node."""
        return {name: owner for owner in reversed(self.owners) for name in owner.nodes}

    @cached_property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types of compute nodes."""
        nodes = (node.entry for node in self._table.nodes if "compute" in node.entry.roles)
        return tuple(dict.fromkeys(gpu for entry in nodes for gpu in entry.gpus))

    def limits(self, owner: Owner) -> Amounts:
        """Return the limit on all jobs of an owner's account together: what it owns, and its share of CPUs and memory.

        An owner of nodes has no such limit: its partitions have its nodes and no others. An owner of GPUs by type
        has a limit of 0 on all other types; owned CPUs replace the share of CPUs.
        """
        group = owner.account.limits.group
        if not owner.shares:
            return group
        typed = {name: owner.types.get(name, 0) for name in self.gpu_types} if owner.types else {}
        given = {"gpu": owner.gpus, **({"gpus": {**typed, **group.gpus}} if typed else {})}
        if owner.cpus is not None:
            given["cpu"] = owner.cpus
        shares = {
            key: each * owner.gpus
            for key, each in self._inventory.scheduler.lab_share
            if each is not None and getattr(group, key) is None and key not in given
        }
        return group.model_copy(update={**given, **shares})
