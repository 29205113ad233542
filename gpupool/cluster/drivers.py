"""Which GPU driver each node gets, of what `software.cuda` says: one choice for all, and the nodes that differ."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from gpupool.cluster.complaints import Path
from gpupool.cluster.schema.software import DriverChoice, Software
from gpupool.nvidia.tables import Module, branches, distributions

_CUDA: Path = ("software", "cuda")


@dataclass(frozen=True)
class Driver:
    """What the same driver is chosen for. `branch` is None where a repository's own newest is meant, whatever it is.

    `promised` is the CUDA that users may count on, `path` the entry that says so, `base` software.cuda, `own` its keys.
    """

    nodes: frozenset[str]
    branch: str | None
    module: Module
    repository: str | None
    version: str | None
    promised: str | None
    path: Path
    own: frozenset[str]

    def at(self, key: str) -> Path:
        """Return the place of a key: in the entry itself, or in software.cuda, which it has the value of."""
        return (*(self.path if key in self.own else _CUDA), key)

    @property
    def cuda(self) -> str | None:
        """The newest CUDA of the branch; None where the branch is not in the table."""
        known = branches().get(self.branch or "")
        return known.cuda if known else None


def drivers(software: Software, nodes_of: Callable[[str], Collection[str]]) -> Iterator[Driver]:
    """Return each choice with its nodes; a node of two overrides counts for the first."""
    if software.cuda is None:
        return
    left = frozenset(nodes_of(software.cuda.where))
    for index, override in enumerate(software.cuda.overrides):
        nodes = left & frozenset(nodes_of(override.where))
        left -= nodes
        yield _driver(software, nodes, (*_CUDA, "overrides", index), override)
    yield _driver(software, left, _CUDA, software.cuda)


def _driver(software: Software, nodes: frozenset[str], path: Path, entry: DriverChoice) -> Driver:
    general = software.cuda or entry

    def value(key: str) -> str | None:
        own: str | None = getattr(entry, key)
        inherited: str | None = getattr(general, key)
        return own or inherited

    repository = value("repository")
    # a version is of one branch of one repository
    elsewhere = entry.driver_branch or entry.repository
    return Driver(
        nodes,
        value("driver_branch") or (None if repository else distributions()[software.debian].default),
        "open" if value("module") == "open" else "proprietary",
        repository,
        entry.version if elsewhere else value("version"),
        value("cuda"),
        path,
        frozenset(key for key in DriverChoice.model_fields if getattr(entry, key)),
    )
