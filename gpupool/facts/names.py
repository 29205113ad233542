"""What a node calls itself now."""

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import FactBase

from gpupool.facts.script import ask, whole


class KernelName(FactBase[str | None]):
    """The host name that the kernel has. None when the node did not answer."""

    def command(self) -> StringCommand:
        """Ask the kernel, not a file."""
        return ask("cat /proc/sys/kernel/hostname")

    def process(self, output: list[str]) -> str | None:
        """Read the answer."""
        lines = whole(output)
        return lines[0].strip() if lines else None
