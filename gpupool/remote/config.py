"""The configuration of OpenSSH's client for the nodes of a target, and the options for one node.

The admin's `~/.ssh/config` and the system's count, so that jumps, ports, users and keys are those of the admin's own
`ssh NODE`. OpenSSH takes the first value of an option that it finds, in this order:

1. the options on the command line, for one node: its address, what `access.admin` of the inventory sets, and what
   gpupool insists on. OpenSSH does not pass them on to the `ssh` that it starts for a jump;
2. the head of the file, for nodes and jumps: no question is asked, and a connection without an answer ends;
3. the admin's file and the system's. `CanonicalizeHostname` makes OpenSSH read all files a second time with the address
   of the node as its name: so `Host` blocks for the node's name and blocks for its address both match. A jump is read
   once and by its name, as without gpupool;
4. defaults for nodes.

The first group is no `Host` block of the file, because a jump may have the name of a node: `Host head` of the admin's
file is the way into the cluster, and the address that the inventory has for `head` is behind it.
"""

from collections.abc import Mapping
from pathlib import Path

from gpupool.errors import TestbedError
from gpupool.target import Target

CONNECT_SECONDS = 30  # for the TCP connection and the key exchange; behind jumps for all of them together
ALIVE_SECONDS, ALIVE_COUNT = 15, 3  # a node that gives no answer three times in a row is given up
SYSTEM = Path("/etc/ssh/ssh_config")
DEFAULT_USER, DEFAULT_PORT = "root", 22

_HEAD = f"""\
Host *
  BatchMode yes
  ConnectTimeout {CONNECT_SECONDS}
  ServerAliveInterval {ALIVE_SECONDS}
  ServerAliveCountMax {ALIVE_COUNT}
  LogLevel ERROR
  RequestTTY no
  RemoteCommand none
  PermitLocalCommand no
  ClearAllForwardings yes
  ForwardAgent no
  ForwardX11 no
"""
# `canonical` is true when the files are read for the second time: then no value of the admin's can follow.
# SendEnv: the locale of the admin is not for commands on nodes.
_DEFAULTS = f"""\
Match canonical
  User {DEFAULT_USER}
  SendEnv -*
"""


def text(target: Target) -> str:
    """Return the file for `ssh -F`; TestbedError if the testbed has no file yet that says how to reach its nodes."""
    if target.testbed is None:
        return f"{_HEAD}Include {quoted(Path.home() / '.ssh' / 'config')}\nInclude {SYSTEM}\n{_DEFAULTS}"
    included = Path(target.testbed.ssh_config)
    if not included.exists():
        raise TestbedError(
            f"testbed {target.testbed.id} was only partly started: run `gpupool testbed up {target.testbed.inventory}`"
        )
    return f"{_HEAD}Include {quoted(included)}\n"


def options(target: Target, address: str) -> list[str]:
    """Return the words of ssh's command line that are for the node at an address, before its name."""
    values: dict[str, object] = {
        "HostName": address,
        "CanonicalizeHostname": "yes",
        "StrictHostKeyChecking": "yes",
    }
    if target.testbed is None:
        admin = target.cluster.access.admin
        key = quoted(Path(admin.key).expanduser()) if admin.key else None
        values |= {"User": admin.user, "Port": admin.port, "IdentityFile": key}
    return option_words({name: value for name, value in values.items() if value is not None})


def option_words(values: Mapping[str, object]) -> list[str]:
    """Return options as words of ssh's command line."""
    return [word for name, value in values.items() for word in ("-o", f"{name}={value}")]


def quoted(path: Path) -> str:
    """Return a path as one word of OpenSSH's configuration, whatever blanks are in it."""
    return f'"{path}"'
