"""The partitions of an inventory, of which an entry whose nodes or QoS are each account's own becomes several."""

from collections.abc import Iterator
from typing import Any

from gpupool.cluster.complaints import Path
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.labs import Partition

ACCOUNT = "{account}"
_OWNED = f"@owner:{ACCOUNT}"
_PATTERNS = ("name", "nodes", "allow_accounts", "deny_accounts", "qos", "default_qos", "without_gpu")


def partitions_of(inventory: Inventory) -> Iterator[tuple[Path, Partition]]:
    """Yield each partition entry with its path; one with an account's own nodes or QoS once per account, filled in.

    An account that owns no nodes gets no partition of `@owner:{account}`. Other entries with `for_each` are yielded as
    written: their partitions differ in their names and admitted accounts alone, so checks look at them once.
    """
    for index, entry in enumerate(inventory.partitions):
        path = ("partitions", index)
        if not _differs(entry):
            yield path, entry
            continue
        for account in inventory.accounts:
            if account.kind == entry.for_each and (isinstance(account.owns, str) or _OWNED not in entry.nodes):
                yield path, _filled(entry, account.name)


def _differs(entry: Partition) -> bool:
    own = (entry.nodes, *entry.qos, entry.default_qos or "")
    return entry.for_each is not None and ACCOUNT in entry.name and any(ACCOUNT in each for each in own)


def _filled(entry: Partition, account: str) -> Partition:
    def filled(value: Any) -> Any:
        return value.replace(ACCOUNT, account) if isinstance(value, str) else value and tuple(map(filled, value))

    return entry.model_copy(update={key: filled(getattr(entry, key)) for key in _PATTERNS})
