"""The GPU driver of a node: its packages, the loaded module, and the jobs and processes that may use it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown
from gpupool.slurm import nodes

_LOOK = shell_file(__package__, "driver.sh")


@dataclass(frozen=True)
class DriverState(Shown):
    """Installed versions by package, the `held` packages, and the version of the `loaded` module.

    `nouveau`: that module is loaded. `jobs` have processes here; `users` are slurmctld's jobs here, as "JOB of USER".
    `open`: slurmd runs, and slurmctld did not report the node as drained, so that a job may begin at any time.
    """

    installed: dict[str, str]
    held: tuple[str, ...] = ()
    loaded: str | None = None
    nouveau: bool = False
    jobs: tuple[str, ...] = ()
    open: bool = False
    users: tuple[str, ...] = ()


class Driver(Fact[DriverState]):
    """The state of the GPU driver, in one command."""

    def command(self, node: str, packages: Sequence[str]) -> StringCommand:
        """Ask for packages by name or pattern; `node` is the node's name in Slurm."""
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
