"""Programs of a node that own what gpupool sets: cloud-init, unattended-upgrades, firewalls, configuration managers."""

from dataclasses import dataclass
from enum import StrEnum

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

#: The root of the files that are read; "" is the node's own.
ROOT = ""
_LOOK = shell_file(__package__, "masters.sh")


class Owns(StrEnum):
    """The thing that another program owns, as the script prints it."""

    HOSTS = "hosts"
    REBOOT = "reboot"
    FIREWALL = "firewall"
    MANAGER = "manager"


@dataclass(frozen=True)
class Master(Shown):
    """A program: its `name` ("" for cloud-init and unattended-upgrades), and the file or unit `where` it is set."""

    owns: Owns
    name: str
    where: str


class Masters(Fact[list[Master]]):
    """The other programs that own what gpupool sets; `table` is gpupool's own table of nftables."""

    def command(self, table: str) -> StringCommand:
        """Ask for all in one command."""
        return ask(_LOOK, table, ROOT)

    def read(self, lines: list[str]) -> list[Master]:
        """Read the answer."""
        return [_read(*line.split("\t")) for line in lines]


def _read(owns: str, first: str, where: str = "") -> Master:
    kind = Owns(owns)
    return Master(kind, "", first) if kind in (Owns.HOSTS, Owns.REBOOT) else Master(kind, first, where)
