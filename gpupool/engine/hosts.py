"""The hosts of a run: pyinfra's inventory, and the state of each host during the run."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyinfra.api import Host, Inventory

from gpupool.engine.explain import reason
from gpupool.engine.lock import FirstAnswer
from gpupool.engine.record import Heard
from gpupool.engine.report import NodeHost
from gpupool.engine.session import Session
from gpupool.engine.ssh import PoolSSH
from gpupool.operations.refusal import RefusedInPlanError
from gpupool.reasons import Reason


def inventory_of(nodes: Sequence[NodeHost]) -> Inventory:
    """Return pyinfra's inventory of the nodes, in the same order.

    The connector is set directly, not by an entry point, so that gpupool works from a checkout that is not installed.
    """
    names = [_address(node) for node in nodes]
    members: dict[str, list[str]] = {}
    for name, node in zip(names, nodes, strict=True):
        for group in node.groups:
            members.setdefault(group, []).append(name)
    entries = [(name, dict(node.data)) for name, node in zip(names, nodes, strict=True)]
    inventory = Inventory((entries, {}), **{group: (inside, {}) for group, inside in members.items()})
    for host, node in zip(inventory, nodes, strict=True):
        if node.connector == "pool":
            host.connector_cls = PoolSSH
    return inventory


def _address(node: NodeHost) -> str:
    if node.connector == "pool":
        return node.name
    return "@local" if node.connector == "local" else f"@{node.connector}/{node.name}"


class HostRun:
    """The state of one host during the run."""

    def __init__(self, name: str, host: Host, session: Session) -> None:
        self.name = name
        self.host = host
        self.session = session
        self.heard = Heard()
        self.failure: str | None = None
        self.reason: Reason | None = None  # of the failure
        self.parts: dict[str, tuple[str, Reason]] = {}  # failures of parts, by part
        self.seconds = 0.0
        self.left = 0  # operations still to run
        self.first_answer: FirstAnswer | None = None
        self.begun = False  # its first audit line was written
        self.clock = ""  # the message about a wrong clock

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Forget earlier failures, and add the duration of the context to `seconds`."""
        self.heard.error = self.session.failure = self.session.reason = None
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - began

    def reason_of(self, error: BaseException | None = None) -> Reason:
        """Return the code of the failure: the exception's, else that of the last failing command."""
        error = error or self.heard.error
        return error.reason if isinstance(error, RefusedInPlanError) else self.session.reason or Reason()

    def why(self, error: BaseException | None = None) -> str:
        """Return the text of the failure: the exception's, else that of the last failing command."""
        error = error or self.heard.error
        if error is not None and not isinstance(error, (OSError, EOFError)):
            return reason(error)
        # For connection errors, the session has a better text.
        return self.session.failure or (reason(error) if error else "failed with no output")
