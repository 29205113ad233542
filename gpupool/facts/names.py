"""The current host name of a node."""

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask


class KernelName(Fact[str]):
    """The host name in the kernel."""

    def command(self) -> StringCommand:
        """Ask the kernel, not a file."""
        return ask("cat /proc/sys/kernel/hostname")

    def read(self, lines: list[str]) -> str:
        """Read the answer."""
        return "".join(lines).strip()
