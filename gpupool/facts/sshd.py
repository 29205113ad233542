"""The settings of sshd that another file keeps from being those of gpupool's drop-in, as sshd itself evaluates them."""

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
