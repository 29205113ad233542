"""Newer packages of a node's system: what its apt would raise, and the raise. Slurm and the GPU driver stay."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from gpupool.cluster.node import Node
from gpupool.errors import GpupoolError
from gpupool.remote.controller import Controller
from gpupool.shell import shell_file
from gpupool.wording import counted, shortened

#: The packages to raise: those with a fix in the distribution's suite of security, or all.
Scope = Literal["security", "all"]

_SCRIPT = shell_file(__package__, "packages.sh")
_LIST_SECONDS = 600.0  # apt waits up to 300 s for its lock
_RAISE_SECONDS = 3600.0  # a new kernel also builds the driver's modules
_AT_ONCE = 16


@dataclass(frozen=True)
class Package:
    """An installed package, its version, and the version that apt has; `held` is why it stays ("": it is raised)."""

    name: str
    old: str
    new: str
    held: str = ""

    @property
    def change(self) -> str:
        """Return the change for admins, such as `libssl3 3.0.17 becomes 3.0.18`."""
        return f"{self.name} {self.old} becomes {self.new}"


@dataclass(frozen=True)
class Newer:
    """Packages of a node with a newer version, or the error of its apt."""

    packages: tuple[Package, ...] = ()
    error: str = ""

    @property
    def raised(self) -> tuple[Package, ...]:
        """Return the packages to raise."""
        return tuple(package for package in self.packages if not package.held)

    @property
    def brief(self) -> str:
        """Return the number and the names of the packages to raise; "" if there are none."""
        names = [package.name for package in self.raised]
        return f"{counted(len(names), 'package')} ({shortened(names)})" if names else ""


def newer(controller: Controller, nodes: Sequence[Node], scope: Scope) -> Mapping[str, Newer]:
    """Return what apt would raise on each node, by name; only apt's lists on the nodes are refreshed."""
    return _on_each(nodes, lambda node: _ask(controller, node, "list", scope, _LIST_SECONDS))


def raise_packages(controller: Controller, nodes: Sequence[Node], scope: Scope) -> Mapping[str, Newer]:
    """Raise the packages on nodes without jobs; return what was raised on each node, or its error, by name.

    A raise that was interrupted is completed first.
    """
    return _on_each(nodes, lambda node: _ask(controller, node, "raise", scope, _RAISE_SECONDS))


def _on_each(nodes: Sequence[Node], ask: Callable[[Node], Newer]) -> Mapping[str, Newer]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip((node.name for node in nodes), pool.map(ask, nodes), strict=True))


def _ask(controller: Controller, node: Node, act: str, scope: Scope, seconds: float) -> Newer:
    try:
        answer = controller.output_on(node.name, "sh", "-c", _SCRIPT, "packages", act, scope, seconds=seconds)
    except GpupoolError as error:
        return Newer(error=str(error))
    return Newer(read(answer))


def read(answer: str) -> tuple[Package, ...]:
    """Return the packages in the output of packages.sh."""
    rows = (line.split("\t") for line in answer.splitlines())
    return tuple(Package(*row[1:]) for row in rows if (row[0], len(row)) in (("raise", 4), ("held", 5)))
