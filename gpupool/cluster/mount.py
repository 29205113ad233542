"""An export as nodes mount it."""

from dataclasses import dataclass
from functools import cached_property

from gpupool.cluster.schema.storage import Export
from gpupool.unix import within


@dataclass(frozen=True)
class Mount:
    """An export as a node mounts it; `entry` has all other values as written.

    `export` is its key, `path` the directory on the server, `at` its directory on clients, and `source` `server:path`
    with the server's full name, or its address in the export's network. If the site mounts it, `source` is the kind of
    file system, and `server` a node that creates directories on it, or empty. `dataset` is the name in ZFS; None
    outside of declared pools.
    """

    entry: Export
    export: str
    server: str
    path: str
    source: str
    at: str
    nodes: tuple[str, ...]
    dataset: str | None

    @property
    def by_site(self) -> bool:
        """Whether the site mounts it, instead of gpupool."""
        return self.entry.mounted_by == "site"

    @property
    def mount_point(self) -> str:
        """Where clients mount it: at `at`, or above it if `at` is a directory of the site's file system."""
        return self.entry.mount_point or self.at

    @cached_property
    def clients(self) -> frozenset[str]:
        """The same nodes as a set, for fast look-up."""
        return frozenset(self.nodes)

    def holds(self, path: str) -> bool:
        """Return whether a path of a client is on this mount."""
        return within(path, self.at)
