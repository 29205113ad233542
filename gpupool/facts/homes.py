"""Home directories: owner, mode and authorized keys."""

import base64
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

#: Maximum size in bytes of an authorized_keys that is read; gpupool does not manage larger ones.
LARGEST = 65536

_LOOK = shell_file(__package__, "homes.sh")


@dataclass(frozen=True)
class HomeState(Shown):
    """Numeric owner and group, mode as octal text, and the lines of ~/.ssh/authorized_keys.

    `keys` is None if that is not a plain file, is behind a link, has more than `LARGEST` bytes or cannot be read:
    then the keys are unknown, and only the owner should change the file.
    """

    uid: int
    gid: int
    mode: str
    keys: tuple[str, ...] | None = ()


class Homes(Fact[dict[str, HomeState]]):
    """The states of the home directories that exist, by path."""

    def command(self, paths: list[str]) -> StringCommand:
        """Ask for each path."""
        return ask(_LOOK, str(LARGEST), *paths)

    def read(self, lines: list[str]) -> dict[str, HomeState]:
        """Read the answer."""
        homes: dict[str, HomeState] = {}
        for line in lines:
            _, uid, gid, mode, keys, path = line.split(" ", 5)
            homes[path] = HomeState(int(uid), int(gid), mode.zfill(4), _keys(keys))
        return homes


def _keys(encoded: str) -> tuple[str, ...] | None:
    if encoded in ("none", "odd"):
        return () if encoded == "none" else None
    read = base64.b64decode(encoded)
    if read[-1:] != b"1" or len(read) > LARGEST + 1:
        return None
    return tuple(line.decode(errors="replace").strip() for line in read[:-1].split(b"\n"))
