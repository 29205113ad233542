"""nftables of a node, and from where we came to it."""

from ipaddress import ip_address

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file

_CALLER = shell_file(__package__, "caller.sh")


class Caller(Look[str]):
    """The address from which our SSH connection comes, "" where there is none: a node that is this machine."""

    def command(self) -> StringCommand:
        """Ask the processes above this one."""
        return ask(_CALLER)

    def read(self, lines: list[str]) -> str:
        """Read the answer; ValueError where it is no address."""
        address = lines[0].strip() if lines else ""
        if address:
            ip_address(address.partition("%")[0])
        return address


class Emptied(Look[bool]):
    """Whether a table of family inet is gone although the unit that loads it is active."""

    def command(self, table: str, unit: str) -> StringCommand:
        """Ask systemd and the kernel."""
        script = 'systemctl is-active --quiet -- "$2" && { nft list table inet "$1" >/dev/null 2>&1 || echo emptied; }'
        return ask(script, table, unit)

    def read(self, lines: list[str]) -> bool:
        """Read the answer."""
        return lines == ["emptied"]
