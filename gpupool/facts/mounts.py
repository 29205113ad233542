"""What is mounted on a node, and what systemd has been told to mount."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import FactBase

from gpupool.facts.script import ask, whole

#: Where the unit files that we write stand.
UNITS = "/etc/systemd/system"

# Nothing here touches a mounted file system: a server that is down would hang it.
_LOOK = rf"""
sed 's/^/M\t/' /proc/self/mountinfo
for unit in "$@"; do
  if [ -f {UNITS}/"$unit" ]; then printf 'T\t%s\t' "$unit"; base64 -w0 < {UNITS}/"$unit"; echo; fi
  shown=$(systemctl show -p ActiveState,UnitFileState,NeedDaemonReload -- "$unit" | tr '\n' ' ')
  printf 'U\t%s\t%s\n' "$unit" "$shown"
done
"""


@dataclass(frozen=True)
class Mounted:
    """One mount: what (``source``, ``root`` within it), how, and the number of the file system (``device``)."""

    path: str
    source: str
    fstype: str
    options: tuple[str, ...]
    root: str
    device: str


@dataclass(frozen=True)
class MountUnit:
    """A .mount unit: the text of our file ("" when there is none) and systemd's words for its states."""

    text: str
    active: str
    enabled: str
    need_daemon_reload: bool


@dataclass(frozen=True)
class MountState:
    """Everything mounted, in order, later ones on top; and the units asked for, by name."""

    mounted: tuple[Mounted, ...]
    units: dict[str, MountUnit]

    def at(self, path: str) -> Mounted | None:
        """Return what is mounted exactly at ``path`` (the topmost), or None."""
        return next((mount for mount in reversed(self.mounted) if mount.path == path), None)

    def holding(self, path: str) -> Mounted | None:
        """Return the mount that ``path`` lies in."""
        inside = [mount for mount in self.mounted if f"{path}/".startswith(f"{mount.path.rstrip('/')}/")]
        return max(reversed(inside), key=lambda mount: len(mount.path), default=None)


class Mounts(FactBase[MountState | None]):
    """All mounts and the named .mount units, in one command. None when the answer was cut short."""

    def command(self, units: Sequence[str] = ()) -> StringCommand:
        """Ask for all at once."""
        return ask(_LOOK, *units)

    def process(self, output: list[str]) -> MountState | None:
        """Read the answer."""
        lines = whole(output)
        if lines is None:
            return None
        mounted: list[Mounted] = []
        texts: dict[str, str] = {}
        units: dict[str, MountUnit] = {}
        for line in lines:
            kind, rest = line.split("\t", 1)
            if kind == "M":
                mounted.append(mount_of(rest))
            elif kind == "T":
                name, encoded = rest.split("\t")
                texts[name] = base64.b64decode(encoded).decode(errors="replace")
            else:
                name, shown = rest.split("\t")
                words = dict(word.split("=", 1) for word in shown.split())
                units[name] = MountUnit(
                    text=texts.get(name, ""),
                    active=words.get("ActiveState", ""),
                    enabled=words.get("UnitFileState", ""),
                    need_daemon_reload=words.get("NeedDaemonReload") == "yes",
                )
        return MountState(tuple(mounted), units)


def mount_of(line: str) -> Mounted:
    """Read one line of /proc/self/mountinfo."""
    before, _, after = line.partition(" - ")
    first, last = before.split(" "), after.split(" ")
    return Mounted(
        path=_plain(first[4]), source=_plain(last[1]), fstype=last[0], options=tuple(first[5].split(",")),
        root=_plain(first[3]), device=first[2],
    )  # fmt: skip


def _plain(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
