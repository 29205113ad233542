"""Whether an SSH server answers at all; OpenSSH's own limit also covers the exchange of keys, long on a busy node."""

import socket
import time
from collections.abc import Mapping

_NONE = ("", "none")


def is_silent(settings: Mapping[str, str], seconds: float) -> bool:
    """Return whether no SSH server greets within `seconds`; False if that cannot be tried from this machine.

    `settings` are those of `Nodes.settings`. Behind a jump, only OpenSSH can try it. A refusal is an answer.
    """
    if settings.get("proxyjump", "") not in _NONE or settings.get("proxycommand", "") not in _NONE:
        return False
    until = time.monotonic() + seconds
    try:
        with socket.create_connection((settings["hostname"], int(settings["port"])), timeout=seconds) as connection:
            connection.settimeout(max(0.1, until - time.monotonic()))
            connection.recv(1)
    except TimeoutError:
        return True
    except OSError:
        return False
    return False
