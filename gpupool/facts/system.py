"""The operating system of a node."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "system.sh")


@dataclass(frozen=True)
class OsRelease(Shown):
    """`id`, `codename` and `title` of a system, as ID, VERSION_CODENAME and PRETTY_NAME in os-release(5)."""

    id: str = ""
    codename: str = ""
    title: str = ""


class System(Fact[OsRelease]):
    """The system that a node runs; all fields are empty if it has no os-release."""

    def command(self) -> StringCommand:
        """Ask for the fields of os-release."""
        return ask(_LOOK)

    def read(self, lines: list[str]) -> OsRelease:
        """Read the answer."""
        return OsRelease(*(line.strip() for line in lines[:3]))
