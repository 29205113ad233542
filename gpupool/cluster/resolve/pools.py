"""The ZFS pools of a node, and the dataset of a path; for checks and for compile."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from gpupool.cluster.schema.storage import Export, Local, Pool, Storage
from gpupool.unix import within


@dataclass(frozen=True)
class Placed:
    """A pool on one node: its key in the inventory, its name in ZFS, and its mount point."""

    key: str
    name: str
    at: str
    entry: Pool


def pools_on(storage: Storage, node: str, select: Callable[[str], Collection[str]]) -> tuple[Placed, ...]:
    """Return the pools of a node in inventory order."""
    return tuple(
        Placed(key, name, pool.at or f"/{name}", pool)
        for key, pool in storage.pools.items()
        if pool.server == node or (pool.where and node in select(pool.where))
        for name in [pool.name or key]
    )


def dataset_of(entry: Export | Local, pools: tuple[Placed, ...]) -> str | None:
    """Return the dataset of a directory on ZFS, in one of these pools; None if it is in none of them."""
    dataset = entry.dataset if isinstance(entry, Export) else None
    if dataset is not None:
        return dataset if any(dataset.split("/")[0] == pool.name for pool in pools) else None
    path = entry.path or ""
    # The innermost pool comes first, in case one is mounted inside another.
    for pool in sorted(pools, key=lambda pool: -len(pool.at)):
        if within(path, pool.at):
            return f"{pool.name}{path[len(pool.at.rstrip('/')) :]}".rstrip("/")
    return None
