"""The nftables of a node, and the address from which the engine connects to it."""

from ipaddress import ip_address

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file

_CALLER = shell_file(__package__, "caller.sh")
_TABLE = shell_file(__package__, "firewall.sh")
MISSING, DIFFERS = "emptied", "differs"


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


class Table(Fact[str]):
    """A table of family inet whose unit is active: MISSING, DIFFERS from the unit's file, or "" if it is as wanted."""

    def command(self, table: str, unit: str, rules: str) -> StringCommand:
        """Ask systemd and the kernel."""
        return ask(_TABLE, table, unit, rules)

    def read(self, lines: list[str]) -> str:
        """Read the answer."""
        return lines[0] if lines else ""
