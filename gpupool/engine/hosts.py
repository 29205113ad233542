"""The hosts of a run: pyinfra's inventory made of our targets, and what is known about each host as the run goes on."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyinfra.api import Host, Inventory

from gpupool.engine.explain import reason
from gpupool.engine.lock import Greeting
from gpupool.engine.record import Heard
from gpupool.engine.report import Target
from gpupool.engine.ssh import PoolSSH
from gpupool.engine.wire import Wire


def inventory_of(targets: Sequence[Target]) -> Inventory:
    """The same hosts in the same order; ours need no entry point, so that a bare checkout works."""
    names = [_address(target) for target in targets]
    members: dict[str, list[str]] = {}
    for name, target in zip(names, targets, strict=True):
        for group in target.groups:
            members.setdefault(group, []).append(name)
    entries = [(name, dict(target.data)) for name, target in zip(names, targets, strict=True)]
    inventory = Inventory((entries, {}), **{group: (inside, {}) for group, inside in members.items()})
    for host, target in zip(inventory, targets, strict=True):
        if target.connector == "pool":
            host.connector_cls = PoolSSH
    return inventory


def _address(target: Target) -> str:
    if target.connector == "pool":
        return target.name
    return "@local" if target.connector == "local" else f"@{target.connector}/{target.name}"


class Track:
    """What is known about one host of the run."""

    def __init__(self, name: str, host: Host, wire: Wire) -> None:
        self.name = name
        self.host = host
        self.wire = wire
        self.heard = Heard()
        self.failure: str | None = None
        self.seconds = 0.0
        self.left = 0  # operations still to run
        self.greeting: Greeting | None = None
        self.clock = ""  # how it is off, in words

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count the time within, and forget what failed earlier."""
        self.heard.error = self.wire.failure = None
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - began

    def why(self, error: BaseException | None = None) -> str:
        """The best reason known: an exception, else what the last failing command said."""
        error = error or self.heard.error
        if error is not None and not isinstance(error, (OSError, EOFError)):
            return reason(error)
        # Of errors of the connection, the wire knows more than their text says.
        return self.wire.failure or (reason(error) if error else "failed with no output")
