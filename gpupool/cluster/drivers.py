"""The GPU driver of each node, from `software.cuda`: one choice for all nodes, and overrides, for each distribution."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from gpupool.cluster.complaints import Path
from gpupool.cluster.schema.drivers import DriverChoice
from gpupool.cluster.schema.software import Software
from gpupool.distributions.tables import Distribution
from gpupool.nvidia.tables import Module, branches, distributions

_CUDA: Path = ("software", "cuda")


@dataclass(frozen=True)
class Driver:
    """A choice of driver, with its nodes. `branch` is None for the newest branch of a repository.

    `system` is the distribution of all these nodes: a choice is one driver for each distribution of its nodes.
    `promised` is the CUDA version that users may rely on, `path` the entry of the choice, `own` the keys of the entry
    that are not inherited.
    """

    nodes: frozenset[str]
    system: Distribution
    branch: str | None
    module: Module
    repository: str | None
    version: str | None
    promised: str | None
    path: Path
    own: frozenset[str]

    def at(self, key: str) -> Path:
        """Return the path of a key: in the entry itself, or in software.cuda if the value is inherited."""
        return (*(self.path if key in self.own else _CUDA), key)

    @property
    def cuda(self) -> str | None:
        """The newest CUDA version that the branch supports; None if the branch is not in the table."""
        known = branches().get(self.branch or "")
        return known.cuda if known else None


def drivers(
    software: Software, nodes_of: Callable[[str], Collection[str]], system_of: Callable[[str], Distribution]
) -> Iterator[Driver]:
    """Yield each choice with its nodes, once for each of their distributions; a node in two overrides is the first's.

    `nodes_of` returns the nodes of a selector, `system_of` the distribution of a node.
    """
    if software.cuda is None:
        return
    left = frozenset(nodes_of(software.cuda.where))
    for index, override in enumerate(software.cuda.overrides):
        nodes = left & frozenset(nodes_of(override.where))
        left -= nodes
        for system, some in _by_system(software, nodes, system_of):
            yield _driver(software, some, system, (*_CUDA, "overrides", index), override)
    for system, some in _by_system(software, left, system_of):
        yield _driver(software, some, system, _CUDA, software.cuda)


def _by_system(
    software: Software, nodes: frozenset[str], system_of: Callable[[str], Distribution]
) -> Iterator[tuple[Distribution, frozenset[str]]]:
    """Yield each distribution with its nodes; without nodes, the default one, so that the choice is checked."""
    systems = {name: system_of(name) for name in sorted(nodes)}
    for system in {system.key: system for system in systems.values()}.values():
        yield system, frozenset(name for name, other in systems.items() if other.key == system.key)
    if not nodes:
        yield software.system, nodes


def _driver(software: Software, nodes: frozenset[str], system: Distribution, path: Path, entry: DriverChoice) -> Driver:
    general = software.cuda or entry

    def value(key: str) -> str | None:
        own: str | None = getattr(entry, key)
        inherited: str | None = getattr(general, key)
        return own or inherited

    repository = value("repository")
    # A version belongs to one branch of one repository, so it is not inherited for another.
    elsewhere = entry.driver_branch or entry.repository
    return Driver(
        nodes,
        system,
        value("driver_branch") or (None if repository else distributions()[system.key].default),
        "open" if value("module") == "open" else "proprietary",
        repository,
        entry.version if elsewhere else value("version"),
        value("cuda"),
        path,
        frozenset(key for key in DriverChoice.model_fields if getattr(entry, key)),
    )
