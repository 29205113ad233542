"""What every check looks at, and how two checks of different rooms share a look."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from gpupool.cluster.census import Census
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.labs import Account, Partition

Check = Callable[["Site"], Iterator[Complaint]]


@dataclass(frozen=True)
class Site:
    """An inventory whose shape is right, and its nodes written out."""

    inventory: Inventory
    census: Census

    def accounts_of_kind(self, kind: str) -> list[Account]:
        """Give the accounts of a kind, in inventory order."""
        return [account for account in self.inventory.accounts if account.kind == kind]

    @cached_property
    def account_names(self) -> set[str]:
        """Names of all accounts."""
        return {account.name for account in self.inventory.accounts}

    def partition_names(self, partition: Partition) -> list[tuple[str, str | None]]:
        """Give the (name, account) of each partition that an entry stands for."""
        if partition.for_each is None:
            return [(partition.name, None)]
        return [
            (partition.name.replace("{account}", account.name), account.name)
            for account in self.accounts_of_kind(partition.for_each)
        ]

    def partitions(self) -> Iterator[tuple[Path, Partition]]:
        """Each partition entry with its path."""
        for index, partition in enumerate(self.inventory.partitions):
            yield ("partitions", index), partition

    def admits(self, partition: Partition, account: str) -> bool:
        """Tell whether an account may submit to a partition."""
        if partition.allow_accounts:
            named = {name.replace("{account}", it) for name in partition.allow_accounts for it in self._each(partition)}
            return account in named
        return account not in partition.deny_accounts

    def _each(self, partition: Partition) -> list[str]:
        return [account or "" for _, account in self.partition_names(partition)]
