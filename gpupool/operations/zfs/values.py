"""Convert wanted values of ZFS to those of its commands, and to text; without pyinfra."""

import re

from gpupool.wanted import Dataset, Pool, Vdev

#: gpupool manages a dataset on which this property is set: if it is no longer wanted, it is reported, never removed.
MARK = "gpupool:managed"
#: Names of the properties that gpupool has set, so that an unwanted one is inherited again.
OURS = "gpupool:properties"

SIZES = ("quota", "refquota", "reservation", "refreservation", "recordsize", "special_small_blocks", "volsize")
#: Properties that can only be set when a dataset is created.
FIXED = frozenset(("casesensitivity", "normalization", "utf8only", "encryption", "volblocksize"))
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)")
_OTHER_NAMES = {
    "acltype": {"posixacl": "posix"},
    "compression": {"gzip-6": "gzip", "zstd-3": "zstd", "zstd-fast-1": "zstd-fast"},
}
_ASIDE = ("log", "special", "dedup")  # its loss would lose data: two disks are a mirror


def create_arguments(vdev: Vdev) -> list[str]:
    """Return the arguments of `zpool create` and `zpool add` for a vdev."""
    if vdev.kind == "stripe":
        return [*vdev.disks]
    mirror = ["mirror"] if vdev.kind in _ASIDE and len(vdev.disks) > 1 else []
    return [vdev.kind, *mirror, *vdev.disks]


def shown_groups(vdev: Vdev) -> list[tuple[str, list[str]]]:
    """Return the vdevs that zpool will show: disks of a stripe, cache or spare are one vdev each."""
    if vdev.kind in ("stripe", "cache", "spare"):
        return [(vdev.kind, [disk]) for disk in vdev.disks]
    return [(vdev.kind, [*vdev.disks])]


def plain_properties(entry: Pool | Dataset) -> dict[str, str]:
    """Return the properties of a pool or dataset, values as `zpool get -p` and `zfs get -p` print them."""
    return {name: plain(name, value) for name, value in entry.properties.items()}


def plain(name: str, value: str) -> str:
    """Return a value as `zfs get -p` prints it: sizes in bytes, 0 for none, one of several equivalent names."""
    if name in SIZES:
        if value == "none":
            return "0"
        if match := _SIZE.fullmatch(value):
            unit = 1024 ** " KMGTPE".index(match[2] or " ")
            return str(int(match[1]) * unit if match[1].isdigit() else round(float(match[1]) * unit))
    return _OTHER_NAMES.get(name, {}).get(value, value)


def size(count: int) -> str:
    """Return a size with the largest unit that is exact; 0 is "none"."""
    if count == 0:
        return "none"
    unit = 0
    while count % 1024 == 0 and unit < 6:
        count //= 1024
        unit += 1
    return f"{count}{' KMGTPE'[unit].strip()}" if unit else f"{count} bytes"


def about(count: int) -> str:
    """Return a size with one decimal, for messages."""
    value, unit = float(count), 0
    while value >= 1024 and unit < 6:
        value /= 1024
        unit += 1
    return f"{value:.1f}{' KMGTPE'[unit]}" if unit else f"{count} bytes"


def value_text(name: str, value: str) -> str:
    """Return a property's value for messages."""
    return size(int(value)) if name in SIZES and value.isdigit() else value
