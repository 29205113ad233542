"""Properties of ZFS as an admin writes them, and as `zpool get -p` and `zfs get -p` print them."""

import re

PROFILES = {"read-optimized": {"recordsize": "1M"}}

_SIZES = frozenset(
    ("quota", "refquota", "reservation", "refreservation", "recordsize", "special_small_blocks", "volblocksize")
)
_COUNTS = frozenset(("filesystem_limit", "snapshot_limit"))
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)(?:i?B)?", re.IGNORECASE)
_OTHER_NAMES = {
    "acltype": {"posixacl": "posix", "noacl": "off", "disabled": "off"},
    "compression": {"gzip-6": "gzip", "zstd-3": "zstd"},
}


def plain(name: str, value: str) -> str:
    """Give a value as `-p` prints it: sizes in bytes, 0 for no quota, one name of those that mean the same."""
    if name in _COUNTS:
        return value
    if name in _SIZES:
        if value == "none":
            return "0"
        match = _SIZE.fullmatch(value)
        return str(round(float(match[1]) * 1024 ** " KMGTPE".index(match[2].upper() or " "))) if match else value
    return _OTHER_NAMES.get(name, {}).get(value, value)
