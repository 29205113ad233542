"""Whether a server answers that a daemon of this node needs for its start."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "answers.sh")


@dataclass(frozen=True)
class AnswersState(Shown):
    """Whether the unit is active, and the first server that answered ("" for none)."""

    active: bool
    server: str


class Answers(Fact[AnswersState]):
    """The first of `servers` that accepts a connection at `port`; none is asked if `unit` is active.

    `patience`: the number of attempts, one per second.
    """

    def command(self, unit: str, servers: list[str], port: int, patience: int) -> StringCommand:
        """Ask one server after the other."""
        return ask(_LOOK, unit, str(port), str(patience), *servers, limit=30 + 4 * patience * len(servers))

    def read(self, lines: list[str]) -> AnswersState:
        """Read the answer."""
        servers = [line.removeprefix("up ") for line in lines if line.startswith("up ")]
        return AnswersState("active" in lines, servers[0] if servers else "")
