"""The configuration of OpenSSH's client for the nodes of a target, and the options for one node.

The admin's `~/.ssh/config` and the system's are included, so that jumps, ports, users and keys are those of the admin's
`ssh NODE`. OpenSSH uses the first value of an option that it finds, in this order:

1. the options on the command line, for one node: its address, the values of `access.admin` in the inventory, and
   fixed options. OpenSSH does not pass them on to the `ssh` that it starts for a jump;
2. the head of the file, for nodes and jumps: it disables questions and ends a connection without an answer;
3. the admin's file and the system's. `CanonicalizeHostname` makes OpenSSH read all files a second time with the address
   of the node as its name: so `Host` blocks for the node's name and blocks for its address both match. A jump is read
   once and by its name, as without gpupool;
4. defaults for nodes.

The first group is not a `Host` block of the file, because a jump may have the name of a node: `Host head` in the
admin's file may be the jump into the cluster, and the inventory's address of `head` is inside the cluster.
"""

from collections.abc import Mapping
from pathlib import Path

from gpupool.errors import TestbedError
from gpupool.remote.door import Door

CONNECT_SECONDS = 30  # for the TCP connection and the key exchange; with jumps, for all of them together
ALIVE_SECONDS, ALIVE_COUNT = 15, 3  # after three missing answers in a row, the connection is closed
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
# `Match canonical` applies only when the files are read a second time, so all values of the admin precede these.
# SendEnv: commands on nodes must not get the admin's locale.
_DEFAULTS = f"""\
Match canonical
  User {DEFAULT_USER}
  SendEnv -*
"""


def text(target: Door) -> str:
    """Return the text of the file for `ssh -F`; TestbedError if the testbed has no SSH configuration yet."""
    if target.testbed is None:
        return f"{_HEAD}Include {quoted(Path.home() / '.ssh' / 'config')}\nInclude {SYSTEM}\n{_DEFAULTS}"
    included = Path(target.testbed.ssh_config)
    if not included.exists():
        raise TestbedError(
            f"testbed {target.testbed.id} was only partly started: run `gpupool testbed up {target.testbed.inventory}`"
        )
    return f"{_HEAD}Include {quoted(included)}\n"


def options(target: Door, address: str) -> list[str]:
    """Return the options of ssh's command line for the node at an address; "" leaves it to the admin's files."""
    values: dict[str, object] = {
        "HostName": address or None,
        "CanonicalizeHostname": "yes",
        "StrictHostKeyChecking": "yes",
    }
    if target.testbed is None:
        admin = target.admin
        key = quoted(Path(admin.key).expanduser()) if admin.key else None
        values |= {"User": admin.user, "Port": admin.port, "IdentityFile": key}
    return option_words({name: value for name, value in values.items() if value is not None})


def option_words(values: Mapping[str, object]) -> list[str]:
    """Return options as words of ssh's command line."""
    return [word for name, value in values.items() for word in ("-o", f"{name}={value}")]


def quoted(path: Path) -> str:
    """Return a path, which may have blanks, as one word of OpenSSH's configuration."""
    return f'"{path}"'
