"""The nftables of a node, and the address from which the engine connects to it."""

from ipaddress import ip_address

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file

_CALLER = shell_file(__package__, "caller.sh")


class Caller(Fact[str]):
    """The client address of the engine's SSH connection; "" without SSH, if the node is this machine."""

    def command(self) -> StringCommand:
        """Ask the parent processes of the command."""
        return ask(_CALLER)

    def read(self, lines: list[str]) -> str:
        """Read the answer; ValueError if it is not an address."""
        address = lines[0].strip() if lines else ""
        if address:
            ip_address(address.partition("%")[0])
        return address


class Emptied(Fact[bool]):
    """Whether a table of family inet is missing although the unit that loads it is active."""

    def command(self, table: str, unit: str) -> StringCommand:
        """Ask systemd and the kernel."""
        script = 'systemctl is-active --quiet -- "$2" && { nft list table inet "$1" >/dev/null 2>&1 || echo emptied; }'
        return ask(script, table, unit)

    def read(self, lines: list[str]) -> bool:
        """Read the answer."""
        return lines == ["emptied"]
