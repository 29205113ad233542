"""SSH's greeting and exchange of keys with a separate time limit, apart from that of the TCP connection."""

import threading
from typing import Any

from paramiko import SSHException, Transport


class PatientTransport(Transport):
    """A transport that waits `banner_timeout` seconds for sshd's greeting, and as long for the exchange of keys.

    paramiko has one limit for the TCP connection and for both of these. Past that limit it goes on without keys, and
    fails with "No existing session". A kernel accepts a connection at once; sshd of an overloaded node needs longer.
    """

    def start_client(self, event: threading.Event | None = None, timeout: float | None = None) -> Any:
        """Exchange keys; SSHException if that takes too long."""
        limit = 2 * float(self.banner_timeout)
        if timeout is not None:
            timeout = max(timeout, limit)
        super().start_client(event, timeout=timeout)
        if event is None and not self.initial_kex_done:
            raise SSHException(f"no SSH session within {timeout:g} s: the node is overloaded, or its sshd hangs")
