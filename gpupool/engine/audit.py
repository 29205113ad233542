"""The audit lines that a run leaves on each node that it changes: user, time, commit and changes.

Two lines of JSON: one before the first command that may change the node, one when the run ends there. If the run was
killed or the connection was lost, the second is missing.
"""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import gevent
import pyinfra
from pyinfra.api import Host

from gpupool import __version__
from gpupool.change import Change
from gpupool.engine.hosts import HostRun
from gpupool.engine.report import Origin
from gpupool.engine.ssh import PoolSSH

STOPPED = "stopped before it finished"
MAX_LISTED = 300  # changes that the last line of a node lists; its count includes all
_LONGEST = 500  # characters of a failure
_END_SECONDS = 5  # time limit for the last lines, on all nodes at once


class Audit:
    """The audit lines of one run, which has the same name on all nodes."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._run = f"{now()}-{secrets.token_hex(4)}"

    def begin(self, host_run: HostRun) -> None:
        """Write the first line, unless the node has it; called before each command that may change the node."""
        connector = host_run.host.connector
        if not host_run.begun and isinstance(connector, PoolSSH):
            host_run.begun = True
            connector.write_log(self.first_line())

    def end(
        self, host_runs: Mapping[Host, HostRun], changes: Mapping[Host, Sequence[Change]], interrupted: bool
    ) -> None:
        """Write the last line on all nodes that have the first; wait five seconds at most."""

        def tell(host: Host, host_run: HostRun) -> None:
            failure = host_run.failure or (STOPPED if interrupted else None)
            if isinstance(host.connector, PoolSSH) and not host.connector.write_log(
                self.last_line(changes[host], failure)
            ):
                pyinfra.logger.warning("%s: the end of this run is missing from its log", host_run.name)

        changed = {host: host_run for host, host_run in host_runs.items() if host_run.begun}
        gevent.joinall([gevent.spawn(tell, *pair) for pair in changed.items()], timeout=_END_SECONDS)

    def first_line(self) -> str:
        """Return the line that a node gets before it is changed."""
        return _line({
            "run": self._run,
            "begun": now(),
            "who": self._origin.who,
            "version": __version__,
            "command": self._origin.command,
            "cluster": self._origin.cluster,
            "commit": self._origin.commit,
            "uncommitted": self._origin.uncommitted,
        })  # fmt: skip

    def last_line(self, changes: Sequence[Change], failure: str | None) -> str:
        """Return the line that a node gets at the end; changes by name only, because a diff may contain a secret."""
        return _line({
            "run": self._run,
            "ended": now(),
            "count": len(changes),
            "changes": [change.operation for change in changes[:MAX_LISTED]],
            "failure": (failure or "")[:_LONGEST],
        })  # fmt: skip


def now() -> str:
    """Return the current time as `2030-01-31T08:12:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))
