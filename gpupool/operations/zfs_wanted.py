"""What is wanted of ZFS, and how its values are told to people; no pyinfra here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpupool import zfs_properties

__all__ = ["FIXED", "MARK", "OURS", "DatasetEntry", "PoolEntry", "VdevEntry", "about", "plain", "size", "told"]

#: A dataset with this property of its own is ours: one that is wanted no more is reported, never removed.
MARK = "gpupool:managed"
#: Names of the properties that we set, so that one which is wanted no more goes back to what is inherited.
OURS = "gpupool:properties"

SIZES = ("quota", "refquota", "reservation", "refreservation", "recordsize", "special_small_blocks", "volsize")
#: What only the making of a dataset can say.
FIXED = frozenset(("casesensitivity", "normalization", "utf8only", "encryption", "volblocksize"))
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)")
_ASIDE = ("log", "special", "dedup")  # without it data is lost: two disks are a mirror


@dataclass(frozen=True)
class VdevEntry:
    """A group of disks by absolute path; `kind`: mirror, raidz1 to 3, stripe, log, cache, special or spare."""

    kind: str
    disks: list[str]

    @property
    def words(self) -> list[str]:
        """The words that `zpool create` and `zpool add` take for it."""
        if self.kind == "stripe":
            return self.disks
        mirror = ["mirror"] if self.kind in _ASIDE and len(self.disks) > 1 else []
        return [self.kind, *mirror, *self.disks]

    @property
    def groups(self) -> list[tuple[str, list[str]]]:
        """The groups that zpool will show for it: disks that are not together stand each for itself."""
        if self.kind in ("stripe", "cache", "spare"):
            return [(self.kind, [disk]) for disk in self.disks]
        return [(self.kind, self.disks)]


@dataclass(frozen=True)
class PoolEntry:
    """A pool: its groups of disks, its own properties, and where its top dataset is mounted (else /<name>).

    One without groups has to be there already: it is never made.
    """

    name: str
    vdevs: list[VdevEntry]
    properties: Mapping[str, str] = field(default_factory=dict)
    mountpoint: str | None = None

    @property
    def disks(self) -> list[str]:
        """All its disks by path."""
        return [disk for vdev in self.vdevs for disk in vdev.disks]


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset that is mounted at `mountpoint` (None: wherever its parent's place makes it be).

    Sizes in `properties` are bytes, or as 1M; quotas are bytes by uid and by gid. What is not named is inherited, or
    left as somebody set it by hand.
    """

    name: str
    mountpoint: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    user_quotas: Mapping[str, int] = field(default_factory=dict)
    group_quotas: Mapping[str, int] = field(default_factory=dict)

    @property
    def wanted(self) -> dict[str, str]:
        """Its properties, values as `zfs get -p` prints them."""
        return {name: plain(name, value) for name, value in self.properties.items()}


def plain(name: str, value: str) -> str:
    """Return a value as `zfs get -p` prints it: sizes in bytes, 0 for none, one name of those that mean the same."""
    if name in SIZES:
        if value == "none":
            return "0"
        if found := _SIZE.fullmatch(value):
            unit = 1024 ** " KMGTPE".index(found[2] or " ")
            return str(int(found[1]) * unit if found[1].isdigit() else round(float(found[1]) * unit))
    return zfs_properties.plain(name, value)


def size(count: int) -> str:
    """Return bytes as people write them when that is exact, else as bytes; 0 is none."""
    if count == 0:
        return "none"
    unit = 0
    while count % 1024 == 0 and unit < 6:
        count //= 1024
        unit += 1
    return f"{count}{' KMGTPE'[unit].strip()}" if unit else f"{count} bytes"


def about(count: int) -> str:
    """Return bytes with one decimal, for words."""
    value, unit = float(count), 0
    while value >= 1024 and unit < 6:
        value /= 1024
        unit += 1
    return f"{value:.1f}{' KMGTPE'[unit]}" if unit else f"{count} bytes"


def told(name: str, value: str) -> str:
    """Return a property's value in words."""
    return size(int(value)) if name in SIZES and value.isdigit() else value
