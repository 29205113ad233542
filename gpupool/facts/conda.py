"""Whether an installation of conda is complete, and whether its paths are free."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "conda.sh")


@dataclass(frozen=True)
class CondaState(Shown):
    """`directory` is installed, begun, absent or foreign (not gpupool's); `link` is absent, a link or foreign."""

    directory: str
    link: str


class Installation(Fact[CondaState]):
    """The state of an installation's directory and of the link to it."""

    def command(self, directory: str, link: str) -> StringCommand:
        """Ask for the directory and the link."""
        return ask(_LOOK, directory, link)

    def read(self, lines: list[str]) -> CondaState:
        """Read the answer."""
        directory, link = lines
        return CondaState(directory, link)
