"""How sshd is started, and the settings that another file keeps from being those of gpupool's drop-in."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file, values
from gpupool.shown import Shown

ETC = "/etc/ssh"
_LOOK = shell_file(__package__, "sshd.sh")


@dataclass(frozen=True)
class Overridden(Shown):
    """A keyword, its values in the drop-in and in force, and the files with it that sshd reads before the drop-in."""

    keyword: str
    wanted: tuple[str, ...]
    now: tuple[str, ...]
    files: tuple[str, ...]


class Overrides(Fact[list[Overridden]]):
    """The overridden keywords of a drop-in with this path and text, for these users; none without sshd."""

    def command(self, path: str, text: str, users: Sequence[str]) -> StringCommand:
        """Ask sshd for all users in one command."""
        return ask(values(etc=ETC) + _LOOK, path, text, *users)

    def read(self, lines: list[str]) -> list[Overridden]:
        """Read the answer."""
        rows = list(dict.fromkeys(tuple(line.split(" ", 2)) for line in lines))

        def of(keyword: str, kind: str) -> tuple[str, ...]:
            return tuple(row[2] for row in rows if row[:2] == (kind, keyword) and len(row) == 3)

        return [
            Overridden(keyword, of(keyword, "wanted"), of(keyword, "now"), of(keyword, "file"))
            for keyword in dict.fromkeys(row[1] for row in rows)
        ]


@dataclass(frozen=True)
class Listening(Shown):
    """Whether systemd listens for sshd and starts one daemon for all connections, now (`now`) and after a boot."""

    now: bool = False
    at_boot: bool = False


class Socket(Fact[Listening]):
    """Whether systemd's socket starts sshd, as on Ubuntu; not if the socket starts a process for each connection."""

    def command(self, unit: str) -> StringCommand:
        """Ask systemd for the socket by its full name."""
        return ask('systemctl show -p ActiveState -p UnitFileState -p Accept -- "$1"', unit)

    def read(self, lines: list[str]) -> Listening:
        """Read the answer."""
        shown = dict(line.split("=", 1) for line in lines)
        if shown.get("Accept") != "no" or shown.get("ActiveState") != "active":
            return Listening()
        return Listening(now=True, at_boot=shown.get("UnitFileState") == "enabled")
