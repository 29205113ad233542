"""The lock on a node: the command that holds it, its answers, and its owner.

The holder is one process on the node, `lock.sh`, which regularly reads a line from the admin's machine. It ends with
its connection, so kill -9 frees the lock at once; if the admin's machine has lost its network, the lock is free after
LEASE_SECONDS without a line. The lock's file belongs to root, because otherwise any user could hold the lock.
"""

import getpass
import os
import re
import socket
import time
from dataclasses import dataclass
from typing import Literal

from gpupool.shell import shell_file

BEAT_SECONDS = 15.0
LEASE_SECONDS = 120  # without a beat
WAIT_SECONDS = 10.0  # for a holder that has just ended: sshd may not have noticed yet

# a node that is taken over may answer with anything
_OWNER = re.compile(r"([0-9]{1,11}) (\S{1,200})")
_SCRIPT = shell_file(__package__, "lock.sh")


@dataclass(frozen=True)
class Reply:
    """The state of a lock, from a line of `lock.sh`: held by this command, busy (`owner` holds it), or free."""

    state: Literal["held", "busy", "free"]
    owner: str = ""


def command(act: Literal["lock", "look"], path: str, log: str = "") -> list[str]:
    """Return the command that holds or reads the lock at a path on a node; the holder appends its input to `log`."""
    owner = f"{time.time():.0f} {whoami()}"
    return ["bash", "-c", _SCRIPT.strip(), "gpupool", act, path, owner, str(LEASE_SECONDS), str(WAIT_SECONDS), log]


def reply(line: str) -> Reply | None:
    """Return the state of the lock from a line of the session's output; None for any other line."""
    mark, _, owner = line.strip().partition(" ")
    match mark:
        case "gpupool-held":
            return Reply("held")
        case "gpupool-busy":
            return Reply("busy", owner)
        case "gpupool-free":
            return Reply("free")
    return None


def owner_of(text: str, doing: str = "applying here") -> str:
    """Return `user@host has been applying here since 08:12`, from the owner in a lock."""
    found = _OWNER.match(text)
    if not found:
        return f"another run has been {doing}"
    since, who = found.groups()
    then, now = time.localtime(int(since)), time.localtime()
    form = "%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M"
    return f"{who} has been {doing} since {time.strftime(form, then)}"


def whoami() -> str:
    """Return `user@host` of this run, for other admins."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"
