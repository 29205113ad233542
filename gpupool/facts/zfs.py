"""ZFS of a node: pools with their disks, datasets with their properties, and the contents of other disks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.facts.zfs_disks import PoolsState, Property, disks_of, pools_of
from gpupool.shell import shell_file
from gpupool.shown import Shown

_HEAD = shell_file(__package__, "zfs.sh")
_POOLS = _HEAD + shell_file(__package__, "zfs_pools.sh")
_DATASETS = _HEAD + shell_file(__package__, "zfs_datasets.sh")


@dataclass(frozen=True)
class Use(Shown):
    """The use and the quota of one user or group in a dataset, in bytes and in files; a quota of 0 is no limit."""

    used: int
    quota: int
    files: int = 0
    most_files: int = 0


@dataclass(frozen=True)
class DatasetsState(Shown):
    """Properties by dataset and name; uses of users and groups by dataset and number; states of paths.

    `places`: path -> "mounted", or the name of a file in it, or "". `version` is the module's: (2, 3).
    """

    datasets: dict[str, dict[str, Property]]
    users: dict[str, dict[str, Use]] = field(default_factory=dict)
    groups: dict[str, dict[str, Use]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    trouble: str = ""
    version: tuple[int, ...] = ()


class Pools(Fact[PoolsState]):
    """All imported pools and the contents of these disks, in one command; disks of imported pools are not read."""

    def command(self, disks: Sequence[str] = ()) -> StringCommand:
        """Ask for the pools and the disks."""
        return ask(_POOLS, *disks)

    def read(self, lines: list[str]) -> PoolsState:
        """Read the answer."""
        rows = [line.split("\t", 1) for line in lines]
        of = {kind: [rest for first, rest in rows if first == kind] for kind in "XGSLDBWZ"}
        return PoolsState(
            pools_of(of["G"], of["S"], dict(line.split("\t") for line in of["L"])),
            disks_of(of),
            of["X"][0] if of["X"] else "",
        )


class Datasets(Fact[DatasetsState]):
    """Datasets and volumes of all imported pools, in one command.

    Only `properties` are read, but all properties of the `named` ones. `users`: datasets of which the uses of users
    and groups are read. `places`: paths that may already have files or a mount.
    """

    def command(
        self,
        named: Sequence[str] = (),
        users: Sequence[str] = (),
        places: Sequence[str] = (),
        properties: Sequence[str] = ("type", "mountpoint", "used"),
    ) -> StringCommand:
        """Ask for the properties, the uses and the paths."""
        return ask(_DATASETS, ",".join(properties), *named, "--", *users, "--", *places)

    def read(self, lines: list[str]) -> DatasetsState:
        """Read the answer."""
        head = dict(line.split("\t", 1) for line in lines if line.startswith(("X\t", "Y\t")))
        version = tuple(int(part) for part in head.get("Y", "").partition("-")[0].split(".")[:2] if part.isdigit())
        state = DatasetsState({}, trouble=head.get("X", ""), version=version)
        for line in lines:
            kind, *rest = line.split("\t")
            if kind == "G":
                name, key, *value, source = rest
                state.datasets.setdefault(name, {})[key] = Property("\t".join(value), source)
            elif kind == "U":
                name, whose, number, *amounts = rest
                uses = state.groups if "Group" in whose else state.users
                uses.setdefault(name, {})[number] = Use(*map(_number, amounts))
            elif kind == "M":
                state.places[rest[0]] = rest[1] or rest[2]
        return state


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
