"""Constants of every node: valid names and fields of passwd in Debian, systemd's folder, and paths."""

import re

#: The folder of unit files that an admin, or gpupool, writes.
UNITS = "/etc/systemd/system"
#: Lock file that an apply holds on a node while it runs.
APPLY_LOCK = "/run/gpupool-apply.lock"
#: Log of the runs that changed the node: lines of JSON, readable by root only.
APPLY_LOG = "/var/log/gpupool/applies.jsonl"

#: UIDs of systemd's dynamic users (61184 to 65519, systemd's UIDS-GIDS.md), up to the overflow user `nobody`.
SYSTEMD_UIDS = range(61184, 65536)
#: The largest uid and gid of a person: Slurm, NFS and tar store some ids as signed integers.
LARGEST_ID = 2**31 - 1
#: Uids and gids from 1000 to LARGEST_ID that no person and no account may have, and whose they are: systemd's
#: UIDS-GIDS.md, Debian's policy 9.2.2, and `subordinate.numbers` for the last. Systemd's containers (524288 to
#: 1879048191) are left out: the tools that start these skip numbers of existing users, and no node runs them.
RESERVED_IDS = (
    (range(60001, SYSTEMD_UIDS.start), "by systemd, and for users of Debian's packages"),
    (SYSTEMD_UIDS, "by systemd, and for the user `nobody`"),
    (range(0x7000_0000, LARGEST_ID + 1), "for subordinate ids of users who build images, who can act as any of these"),
)
#: The group `people`, of users whose account has no gid.
PEOPLE_GID = 5000

GROUP = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
# users of a directory service may have their domain in the name
USER = re.compile(rf"{GROUP.pattern}(@[a-z0-9.-]+)?")
VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]*")
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")


def breaks_passwd(value: str) -> bool:
    """Return whether a value contains a character that separates fields or lines of passwd."""
    return any(sign in value for sign in ":\n\0")


def within(path: str, top: str) -> bool:
    """Return whether a path is `top` or below it."""
    return path == top or path.startswith(f"{top.rstrip('/')}/")
