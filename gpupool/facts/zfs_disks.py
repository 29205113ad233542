"""Parse the output of zpool, lsblk, wipefs and zdb about pools and disks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpupool.shown import Shown


@dataclass(frozen=True)
class Property(Shown):
    """A value as `-p` prints it, and its source: local, default, inherited from …, received, - (cannot be set)."""

    value: str
    source: str


@dataclass(frozen=True)
class Group(Shown):
    """A top-level vdev of a pool; `kind` is that of `zpool create`, or "stripe" for a single disk.

    `disks` are the paths in zpool's output, `devices` the kernel's names of the same whole disks.
    """

    kind: str
    disks: tuple[str, ...]
    devices: tuple[str, ...]


@dataclass(frozen=True)
class PoolState(Shown):
    """An imported pool: its state as zpool prints it, its properties, and its vdevs in zpool's order."""

    state: str
    properties: dict[str, Property]
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Label(Shown):
    """The ZFS label of a disk: its pool, the last host, and the state: 0 in use, 1 exported, 2 destroyed."""

    pool: str
    guid: str
    hostname: str = ""
    state: str = ""


@dataclass(frozen=True)
class DiskState(Shown):
    """A disk: the kernel's name of it (None: no such disk), its contents as text, and its ZFS label."""

    device: str | None
    signs: tuple[str, ...] = ()
    label: Label | None = None


@dataclass(frozen=True)
class PoolsState(Shown):
    """Imported pools by name, the requested disks by path; `trouble` is zpool's error message."""

    pools: dict[str, PoolState]
    disks: dict[str, DiskState]
    trouble: str = ""


def pools_of(got: list[str], status: list[str], devices: dict[str, str]) -> dict[str, PoolState]:
    """Return pools from the output of `zpool get` and `zpool status -P`; `devices` has the kernel's names of disks."""
    pools: dict[str, PoolState] = {}
    for line in got:
        name, key, *value, source = line.split("\t")
        pool = pools.setdefault(name, PoolState("", {}, ()))
        pool.properties[key] = Property("\t".join(value), source)
    for name, state, groups in _status(status, devices):
        if name in pools:
            pools[name] = PoolState(state, pools[name].properties, groups)
    return pools


_NUMBERED = re.compile(r"(mirror|raidz[123]?|draid[123]?(?::\S+?)?)-\d+")
_ASIDE = {"logs": "log", "cache": "cache", "spares": "spare", "special": "special", "dedup": "dedup"}


def _status(lines: list[str], devices: dict[str, str]) -> Iterator[tuple[str, str, tuple[Group, ...]]]:
    """Yield the name, the state and the vdevs of each pool in the output of `zpool status -P`."""
    name, state, groups, aside, inside = "", "", list[tuple[str, list[str]]](), "", False
    for line in [*lines, "  pool: "]:
        tokens = line.split()
        if line.lstrip(" ").startswith("pool: "):
            if name:
                yield name, state, tuple(_group(kind, disks, devices) for kind, disks in groups)
            name, state, groups, aside, inside = " ".join(tokens[1:]), "", [], "", False
        elif line.lstrip(" ").startswith("state: "):
            state = tokens[1]
        elif line.startswith("config:"):
            inside = True
        elif not line.startswith("\t") or not tokens:
            inside = inside and not tokens
        elif inside:
            depth = (len(line) - len(line.lstrip("\t ")) - 1) // 2
            if depth == 0:
                aside = _ASIDE.get(tokens[0], "")
            elif depth == 1:
                together = _NUMBERED.fullmatch(tokens[0])
                kind = aside or (_named(together[1]) if together else "stripe")
                groups.append((kind, [tokens[0]] if tokens[0].startswith("/") else []))
            elif tokens[0].startswith("/") and groups:
                groups[-1][1].append(tokens[0])


def _named(kind: str) -> str:
    return "raidz1" if kind == "raidz" else kind


def _group(kind: str, disks: list[str], devices: dict[str, str]) -> Group:
    return Group(kind, tuple(disks), tuple(devices.get(disk, disk) for disk in disks))


def disks_of(of: dict[str, list[str]]) -> dict[str, DiskState]:
    """Return disks from the list of disks (D), and the output of lsblk (B), wipefs (W) and zdb (Z)."""
    disks: dict[str, DiskState] = {}
    for line in of["D"]:
        path, device = line.split("\t")
        signs = [*_blocks(of["B"], path), *_signatures(of["W"], path)]
        disks[path] = DiskState(device or None, tuple(dict.fromkeys(signs)), _label(of["Z"], path))
    return disks


def _blocks(lines: list[str], path: str) -> Iterator[str]:
    """Yield the uses of a disk as text: partitions, devices on top of it, and mounts."""
    rows = [line.split("\t", 1)[1] for line in lines if line.startswith(f"{path}\t")]
    for at, row in enumerate(rows):
        name, kind, fstype, label, mounted = (_plain(word) for word in row.split(" "))
        content = " ".join(word for word in (fstype, f"'{label}'" if label else "") if word)
        used = f"mounted at {mounted}" if mounted.startswith("/") else mounted
        if at:  # the first row is the disk itself
            yield ", ".join(word for word in (f"{kind} {name}", content, used) if word)
        elif used:
            yield used


def _signatures(lines: list[str], path: str) -> Iterator[str]:
    for line in lines:
        where, rest = line.split("\t")
        if where == path:
            _, _, rest = rest.split(",", 2)
            label, _, kind = rest.rpartition(",")
            yield f"{kind} '{label}'" if label else kind


def _label(lines: list[str], path: str) -> Label | None:
    fields: dict[str, str] = {}
    for line in lines:
        where, key, value = line.split("\t")
        if where == path:
            fields.setdefault(key, value.strip().strip("'"))
    if "name" not in fields:
        return None
    return Label(fields["name"], fields.get("pool_guid", ""), fields.get("hostname", ""), fields.get("state", ""))


def _plain(text: str) -> str:
    return re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), text)
