"""Properties of ZFS that an inventory may set, and the values that they accept: zfsprops(7), zpoolprops(7)."""

import re
from collections.abc import Mapping

PROFILES = {"read-optimized": {"recordsize": "1M"}}

_SWITCH = "on|off"
_SIZE = r"\d+(?:\.\d+)?[KMGTP]?"
_CACHED = "all|none|metadata"

OF_DATASETS = {
    "aclinherit": "discard|noallow|restricted|passthrough|passthrough-x",
    "aclmode": "discard|groupmask|passthrough|restricted",
    "acltype": "off|posix|posixacl",
    "atime": _SWITCH,
    "checksum": "on|off|fletcher2|fletcher4|sha256|sha512|skein|edonr|blake3",
    "compression": r"on|off|lz4|lzjb|zle|gzip(-[1-9])?|zstd(-1?[1-9]|-10)?|zstd-fast(-([1-9]0?|100|500|1000))?",
    "copies": "1|2|3",
    "dedup": "on|off|verify|(sha256|sha512|skein|blake3)(,verify)?|edonr,verify",
    "devices": _SWITCH,
    "dnodesize": "legacy|auto|1k|2k|4k|8k|16k",
    "exec": _SWITCH,
    "filesystem_limit": r"\d+",
    "logbias": "latency|throughput",
    "overlay": _SWITCH,
    "prefetch": _CACHED,
    "primarycache": _CACHED,
    "recordsize": "512|1K|2K|4K|8K|16K|32K|64K|128K|256K|512K|1M|2M|4M|8M|16M",
    "redundant_metadata": "all|most|some|none",
    "refquota": f"none|{_SIZE}",
    "refreservation": f"none|{_SIZE}",
    "relatime": _SWITCH,
    "secondarycache": _CACHED,
    "setuid": _SWITCH,
    "snapdir": "hidden|visible",
    "snapshot_limit": r"\d+",
    "special_small_blocks": _SIZE,
    "sync": "standard|always|disabled",
    "xattr": "on|off|sa|dir",
}

OF_POOLS = {
    "ashift": "0|9|1[0-6]",
    "autoexpand": _SWITCH,
    "autoreplace": _SWITCH,
    "autotrim": _SWITCH,
    "comment": r"[ -~]{1,32}",
    "delegation": _SWITCH,
    "failmode": "wait|continue|panic",
    "listsnapshots": _SWITCH,
    "multihost": _SWITCH,
}

_ONCE = "it can only be set when a dataset is created: create that one by hand, and gpupool will manage it"
# Properties that an inventory must not set, and why.
NOT_HERE = {
    "canmount": "gpupool mounts it",
    "mountpoint": "it is mounted at the export's path",
    "quota": "use `size`",
    "reservation": "use `reservation` of the export",
    "readonly": "gpupool creates directories in it; for clients set options: [ro]",
    "sharenfs": "gpupool exports it to the nodes that mount it",
    "sharesmb": "gpupool exports by NFS",
    **dict.fromkeys(("casesensitivity", "encryption", "keyformat", "keylocation", "normalization", "utf8only"), _ONCE),
}


def wrong(name: str, value: str, known: Mapping[str, str]) -> str | None:
    """Return what is wrong with a value of a known property; None if it is right."""
    if re.fullmatch(known[name], value):
        return None
    return f"{name} cannot be {value!r}"
