"""The state of a node before gpupool changed it: files, rights of directories, host name, units and packages."""

import base64
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.record import RECORD
from gpupool.facts.script import ask
from gpupool.facts.service import STAMPS
from gpupool.shell import shell_file
from gpupool.shown import Shown

#: The folder of kept files and states, readable by root alone. The shell functions of `operations.files` write to it.
BEFORE = f"{RECORD.rpartition('/')[0]}/before"
_LOOK = shell_file(__package__, "former.sh")


@dataclass(frozen=True)
class FormerFile(Shown):
    """A kept file or link. `was` and `now` are rights as text, `now` "" for a missing file.

    `text` and `present` are the kept and the present text, None for a link, a large file, bytes that are not
    text, or a file for only some users. `same` files have no other values.
    """

    path: str
    same: bool
    was: str = ""
    now: str = ""
    text: str | None = None
    present: str | None = None


@dataclass(frozen=True)
class FormerUnit(Shown):
    """A unit: whether it started at boot and was active, then and now, in systemd's words; "-" if it did not exist."""

    name: str
    boot: str
    active: str
    boot_now: str
    active_now: str


@dataclass(frozen=True)
class FormerState(Shown):
    """The former state of a node: `kept` is whether there is any, `has_state` whether it has host name and units.

    `rights` are directories with their former and present rights (UID:GID MODE), `added` directories without a file
    that gpupool created, `packages` those installed since then. Only units that gpupool has changed are in `units`.
    """

    kept: bool
    has_state: bool
    files: tuple[FormerFile, ...]
    rights: tuple[tuple[str, str, str], ...]
    added: tuple[str, ...]
    host_name: tuple[str, str]
    units: tuple[FormerUnit, ...]
    packages: tuple[str, ...]


class Former(Fact[FormerState]):
    """The kept state of the site, and what differs from it now."""

    def command(self) -> StringCommand:
        """Ask for all of it in one command."""
        return ask(_LOOK, BEFORE, STAMPS)

    def read(self, lines: list[str]) -> FormerState:
        """Read the answer."""
        rows = [line.split("\t") for line in lines]

        def of(kind: str) -> list[list[str]]:
            return [row[1:] for row in rows if row[0] == kind]

        host_name = [(was, now) for was, now in of("hostname")]
        return FormerState(
            kept=bool(of("folder")),
            has_state=bool(of("state")),
            files=tuple(
                FormerFile(path, same == "y", was, now, _text(text), _text(present))
                for path, same, was, now, text, present in of("file")
            ),
            rights=tuple((path, was, now) for path, was, now in of("rights")),
            added=tuple(path for (path,) in of("added")),
            host_name=host_name[0] if host_name else ("", ""),
            units=tuple(FormerUnit(*row) for row in of("unit")),
            packages=tuple(name for (name,) in of("package")),
        )


def _text(encoded: str) -> str | None:
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except ValueError:
        return None
