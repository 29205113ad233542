"""Print members of groups from sssd, and the local users with their names or ids, as one line of JSON.

It runs on a node, with Python's standard library alone. getent is not used: it prints names unquoted, and names of a
directory may contain any character.
"""

import ctypes
import grp
import json
import pwd
import sys
from contextlib import suppress


def main(names: list[str]) -> None:
    """Print {"groups": {name: [gid, [members]]}, "users": {name: [uid, gid]}, "local": {name: uid}}."""
    libc = ctypes.CDLL(None)
    groups: dict[str, tuple[int, list[str]]] = {}
    users: dict[str, tuple[int, int]] = {}
    local: dict[str, int] = {}
    for database in (b"group", b"passwd"):
        libc.__nss_configure_lookup(database, b"sss")
    for name in names:
        with suppress(KeyError):
            group = grp.getgrnam(name)
            groups[name] = (group.gr_gid, group.gr_mem)
    for member in sorted({member for _, members in groups.values() for member in members}):
        with suppress(KeyError, ValueError):
            user = pwd.getpwnam(member)
            users[member] = (user.pw_uid, user.pw_gid)
    libc.__nss_configure_lookup(b"passwd", b"files")
    for user in pwd.getpwall():
        if user.pw_name in users or user.pw_uid in {uid for uid, _ in users.values()}:
            local[user.pw_name] = user.pw_uid
    print(json.dumps({"groups": groups, "users": users, "local": local}))


if __name__ == "__main__":
    main(sys.argv[1:])
