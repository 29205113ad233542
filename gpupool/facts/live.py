"""The configuration with which slurmctld runs, and the file slurm.conf."""

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.node import service
from gpupool.programs.drift.state import ARBITER, SlurmState, state_of
from gpupool.shell import shell_file
from gpupool.shown import Shown

PATIENCE = 15  # seconds for each answer of slurmctld

_LOOK = shell_file(__package__, "live.sh")


class LiveState(SlurmState, Shown):
    """The state of Slurm, as a fact that can be printed."""


class LiveSlurm(Fact[LiveState]):
    """The state of slurmctld and its file, in one command."""

    def command(self, path: str) -> StringCommand:
        """Ask for the file at `path`, slurmctld's configuration, partitions and nodes, and the arbiter's status."""
        return ask(_LOOK, path, str(PATIENCE), service.question(ARBITER), limit=4 * PATIENCE)

    def read(self, lines: list[str]) -> LiveState:
        """Read the answer."""
        by: dict[str, list[str]] = {}
        for line in lines:
            letter, _, rest = line.partition("\t")
            by.setdefault(letter, []).append(rest)
        text, config, partitions, nodes, arbiter = ("\n".join(by.get(letter, [])) for letter in "FCPNA")
        state = state_of(text, config, partitions, nodes, "".join(by.get("T", [])[:1]), service.trouble(arbiter))
        return LiveState(**vars(state))
