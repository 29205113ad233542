"""pyinfra's State with two differences: a failing fact stops whoever asked for it, and a plan foresees its handlers."""

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from pyinfra.api import Host
from pyinfra.api.exceptions import FactError, FactProcessError
from pyinfra.api.state import State, StateOperationHostData
from pyinfra.connectors.util import CommandOutput
from pyinfra.context import ctx_host

from gpupool.engine.session import Session, UnansweredError


class FactFailedError(FactError):
    """A fact could not be read; raised where it was asked for."""


class PoolState(State):
    """One run's state; the driver marks failed hosts itself."""

    on_prepared: Callable[[Host, str], None] | None = None
    sessions: Mapping[Host, Session]

    def __init__(self) -> None:
        # pyinfra would look at each operation as soon as it is called, and not when all are known
        super().__init__(check_for_changes=False)
        self.names: dict[tuple[str, str], str] = {}

    def fail_hosts(self, hosts_to_fail: Iterable[Host], activated_count: int | None = None) -> None:
        """Called by pyinfra when a fact fails; its own version goes on with the fact's default value.

        An operation would then act on the host as if nothing were there.
        """
        error = sys.exc_info()[1]
        for host in hosts_to_fail:
            reason = str(error) if isinstance(error, FactProcessError) else self.sessions[host].failure
            # Not the host that asked: one host may read another one's facts.
            where = "" if host == ctx_host.get() else f"{host.name}: "
            raise FactFailedError(f"{where}{reason or 'a fact could not be read'}")

    def set_op_data_for_host(self, host: Host, op_hash: str, op_data: StateOperationHostData) -> None:
        """Also keeps the name that this host gives to the operation, and tells the driver how far the host is."""
        super().set_op_data_for_host(host, op_hash, op_data)
        if own := op_data.global_arguments.get("name"):
            role = host.current_deploy_name
            self.names[host.name, op_hash] = f"{role} | {own}" if role else own
        if self.on_prepared and not self.is_executing:
            self.on_prepared(host, op_hash)

    def name(self, host: Host, op_hash: str) -> str:
        """ "Role | Operation" as this host calls it; other hosts may call the same place in the deploy otherwise."""
        return self.names.get((host.name, op_hash)) or min(self.op_meta[op_hash].names)

    def unfinished(self, host: Host) -> str | None:
        """The operation that raised while it was looked at, if one did: it is in the order but has no data yet."""
        op_hash = host.op_hash_order[-1] if host.op_hash_order else None
        if op_hash is None or op_hash in self.ops[host] or op_hash not in self.op_meta:
            return None
        return self.name(host, op_hash)

    def begin_all(self, host: Host) -> None:
        """Begin each operation, to see what it asks first; the session gathers these questions and answers none."""
        with ctx_host.use(host):
            for data in self.ops[host].values():
                # whatever is wrong is said when it is done in earnest; a command that comes first asks nothing
                with suppress(Exception, UnansweredError):
                    next(iter(data.command_generator()), None)

    def foresee(self, host: Host, op_hash: str) -> None:
        """Look what an operation would do, and complete it as if it had; handlers (`_if`) only if their guards hold."""
        data = self.ops[host][op_hash]
        meta = data.operation_meta
        changes = bool(meta.will_change) and _guards_hold(data.global_arguments["_if"])
        meta.set_complete(True, ["?"] if changes else [], CommandOutput([]))


def _guards_hold(guards: Any) -> bool:
    """Whether all `_if` guards hold; one that cannot be told beforehand (it reads output, say) is taken to hold."""
    try:
        return all(guard() for guard in ([guards] if callable(guards) else guards or ()))
    except Exception:
        return True
