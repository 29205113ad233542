"""What holds on every node: what Debian takes as names and as fields of passwd, systemd's folder, paths below paths."""

import re

#: The folder of unit files that an admin, or gpupool, writes.
UNITS = "/etc/systemd/system"
#: Held by whoever applies to a node, as long as that lasts.
APPLY_LOCK = "/run/gpupool-apply.lock"
#: What each run has changed on the node: lines of JSON, root's alone.
APPLY_LOG = "/var/log/gpupool/applies.jsonl"

#: The group `people`, of users whose account has no gid.
PEOPLE_GID = 5000

GROUP = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
# people of a directory service have their domain in the name
USER = re.compile(rf"{GROUP.pattern}(@[a-z0-9.-]+)?")
VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]*")
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")


def breaks_passwd(value: str) -> bool:
    """Return whether a value would be more than one field of passwd."""
    return any(sign in value for sign in ":\n\0")


def within(path: str, top: str) -> bool:
    """Return whether a path is another one, or below it."""
    return path == top or path.startswith(f"{top.rstrip('/')}/")
