"""The mounts of a node, and its mount units of systemd."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown
from gpupool.unix import UNITS

_LOOK = shell_file(__package__, "mounts.sh")


@dataclass(frozen=True)
class Mounted(Shown):
    """One mount: `source` and the `root` within it, type, options, and the number of the file system (`device`).

    `options` are the options of this mount, `inner` those of its file system, as the kernel prints them.
    """

    path: str
    source: str
    fstype: str
    options: tuple[str, ...]
    root: str
    device: str
    inner: tuple[str, ...] = ()


@dataclass(frozen=True)
class MountUnit(Shown):
    """A mount unit: the text of gpupool's file ("" if there is none), and its states in systemd's words."""

    text: str
    active: str
    enabled: str
    need_daemon_reload: bool


@dataclass(frozen=True)
class MountState(Shown):
    """All mounts in order, later ones on top; and the requested units by name."""

    mounted: tuple[Mounted, ...]
    units: dict[str, MountUnit]

    def at(self, path: str) -> Mounted | None:
        """Return the topmost mount exactly at `path`, or None; systemd's automount point alone counts as None."""
        topmost = next((mount for mount in reversed(self.mounted) if mount.path == path), None)
        return None if topmost is not None and topmost.fstype == "autofs" and topmost.source == "systemd-1" else topmost

    def holding(self, path: str) -> Mounted | None:
        """Return the mount that contains `path`."""
        inside = [mount for mount in self.mounted if f"{path}/".startswith(f"{mount.path.rstrip('/')}/")]
        return max(reversed(inside), key=lambda mount: len(mount.path), default=None)


class Mounts(Fact[MountState]):
    """All mounts and the named mount units, in one command."""

    def command(self, units: Sequence[str] = ()) -> StringCommand:
        """Ask for the mounts and the units."""
        return ask(_LOOK, UNITS, *units)

    def read(self, lines: list[str]) -> MountState:
        """Read the answer."""
        mounted: list[Mounted] = []
        texts: dict[str, str] = {}
        units: dict[str, MountUnit] = {}
        for line in lines:
            kind, rest = line.split("\t", 1)
            if kind == "M":
                mounted.append(mount_of(rest))
            elif kind == "T":
                name, text = rest.split("\t", 1)
                texts[name] = f"{texts.get(name, '')}{text}\n"
            else:
                name, shown = rest.split("\t")
                properties = dict(word.split("=", 1) for word in shown.split())
                units[name] = MountUnit(
                    text=texts.get(name, ""),
                    active=properties.get("ActiveState", ""),
                    enabled=properties.get("UnitFileState", ""),
                    need_daemon_reload=properties.get("NeedDaemonReload") == "yes",
                )
        return MountState(tuple(mounted), units)


_PROBE = shell_file(__package__, "mounts_alive.sh")


class Alive(Fact[dict[str, str | None]]):
    """Why each of these mounts (path: unit and seconds to wait) cannot be used, by path; "" if it can.

    None for a path without a mount or an automount.
    """

    def command(self, mounts: Mapping[str, tuple[str, int]]) -> StringCommand:
        """Ask for all mounts in one command."""
        arguments = [
            word
            for path, (unit, seconds) in mounts.items()
            for word in (path, as_in_mountinfo(path), unit, str(seconds))
        ]
        return ask(_PROBE, *arguments, limit=30 + max((seconds for _, seconds in mounts.values()), default=0))

    def read(self, lines: list[str]) -> dict[str, str | None]:
        """Read the answer."""
        reasons: dict[str, str | None] = {}
        for line in lines:
            kind, path, why = line.split("\t", 2)
            reasons[path] = None if kind == "free" else why or "it cannot be read" if kind == "dead" else ""
        return reasons


def mount_of(line: str) -> Mounted:
    """Read one line of /proc/self/mountinfo."""
    before, _, after = line.partition(" - ")
    first, last = before.split(" "), after.split(" ")
    return Mounted(
        path=_plain(first[4]), source=_plain(last[1]), fstype=last[0], options=tuple(first[5].split(",")),
        root=_plain(first[3]), device=first[2], inner=tuple(last[2].split(",")) if len(last) > 2 else (),
    )  # fmt: skip


def as_in_mountinfo(path: str) -> str:
    """Return a path as the kernel writes it in /proc/self/mountinfo."""
    return re.sub(r"[ \t\n\\]", lambda match: f"\\{ord(match[0]):03o}", path)


def _plain(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
