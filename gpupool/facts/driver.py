"""What a node has of a GPU driver: packages, the module that is loaded, and who may be using it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.slurm import nodes

_LOOK = shell_file(__package__, "driver.sh")


@dataclass(frozen=True)
class DriverState:
    """Installed versions by package, the `held` ones among them, and the version of the module that is `loaded`.

    `nouveau`: that module is loaded. `jobs` have processes here. `open`: slurmd runs, and slurmctld did not say that
    the node is drained, so that a job may begin at any moment.
    """

    installed: dict[str, str]
    held: tuple[str, ...] = ()
    loaded: str | None = None
    nouveau: bool = False
    jobs: tuple[str, ...] = ()
    open: bool = False
    users: tuple[str, ...] = ()


class Driver(Look[DriverState]):
    """All of it, in one command."""

    def command(self, node: str, packages: Sequence[str]) -> StringCommand:
        """Ask for packages by name or pattern; `node` is what Slurm calls it."""
        return ask(_LOOK, node, *packages)

    def read(self, lines: list[str]) -> DriverState:
        """Read the answer."""
        rows = [line.split("\t") for line in lines]
        packages = [row[1:] for row in rows if row[0] == "P" and row[1][1:2] == "i"]
        states = nodes.read("\n".join(line.partition("\t")[2] for line in lines if line.startswith("S\t"))).values()
        return DriverState(
            {name: version for _, name, version in packages},
            tuple(name for state, name, _ in packages if state[0] == "h"),
            next((row[1] for row in rows if row[0] == "M"), None),
            ["N"] in rows,
            tuple(row[1] for row in rows if row[0] == "J"),
            ["A"] in rows and not any(state.drained for state in states),
            tuple(row[1] for row in rows if row[0] == "U"),
        )
