"""pyinfra's State with two differences: a failed fact raises in its caller, and a plan also predicts handlers."""

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
from gpupool.operations import apart


class FactFailedError(FactError):
    """A fact could not be read; raised in the code that asks for it."""


class PoolState(State):
    """The state of one run; `HostRuns`, not pyinfra, marks hosts as failed."""

    on_prepared: Callable[[Host, str], None] | None = None
    sessions: Mapping[Host, Session]

    def __init__(self) -> None:
        # otherwise pyinfra would evaluate each operation when it is called, before all are known
        super().__init__(check_for_changes=False)
        self.names: dict[tuple[str, str], str] = {}
        self.parts: dict[tuple[str, str], str] = {}

    def fail_hosts(self, hosts_to_fail: Iterable[Host], activated_count: int | None = None) -> None:
        """Raise FactFailedError; pyinfra calls this method when a fact fails.

        pyinfra's own method continues with the fact's default value, and the operation would treat the host as empty.
        """
        error = sys.exc_info()[1]
        for host in hosts_to_fail:
            reason = str(error) if isinstance(error, FactProcessError) else self.sessions[host].failure
            # One host may read the facts of another.
            where = "" if host == ctx_host.get() else f"{host.name}: "
            raise FactFailedError(f"{where}{reason or 'a fact could not be read'}")

    def set_op_data_for_host(self, host: Host, op_hash: str, op_data: StateOperationHostData) -> None:
        """Store an operation of a host with its name and part on this host, and report the progress of the host."""
        super().set_op_data_for_host(host, op_hash, op_data)
        self.parts[host.name, op_hash] = apart.present()
        if own := op_data.global_arguments.get("name"):
            role = host.current_deploy_name
            self.names[host.name, op_hash] = f"{role} | {own}" if role else own
        if self.on_prepared and not self.is_executing:
            self.on_prepared(host, op_hash)

    def name(self, host: Host, op_hash: str) -> str:
        """Return "Role | Operation", the name on this host; on other hosts the same call may have another name."""
        return self.names.get((host.name, op_hash)) or min(self.op_meta[op_hash].names)

    def part(self, host: Host, op_hash: str) -> str:
        """Return the part that fails alone with this operation; "" if its failure ends all work on the host."""
        return self.parts[host.name, op_hash]

    def unfinished(self, host: Host) -> str | None:
        """Return the name of the operation that raised during its evaluation (it has no data yet); None without one."""
        op_hash = host.op_hash_order[-1] if host.op_hash_order else None
        if op_hash is None or op_hash in self.ops[host] or op_hash not in self.op_meta:
            return None
        return self.name(host, op_hash)

    def begin_all(self, host: Host) -> None:
        """Begin each operation, so that the session notes its first question; no question is answered."""
        with ctx_host.use(host):
            for data in self.ops[host].values():
                # errors are reported when the operation really runs; if it begins with a command, it has no question
                with suppress(Exception, UnansweredError):
                    next(iter(data.command_generator()), None)

    def foresee(self, host: Host, op_hash: str) -> None:
        """Compute the changes of an operation and mark it as completed; handlers (`_if`) only if their guards hold."""
        data = self.ops[host][op_hash]
        meta = data.operation_meta
        changes = bool(meta.will_change) and _guards_hold(data.global_arguments["_if"])
        meta.set_complete(True, ["?"] if changes else [], CommandOutput([]))

    def forget_foreseen(self, host: Host) -> None:
        """Undo all `foresee` of a host, so that its operations can be executed."""
        for data in self.ops[host].values():
            meta = data.operation_meta
            meta._success = meta._commands = meta._combined_output = meta._maybe_is_change = None


def _guards_hold(guards: Any) -> bool:
    """Return whether all `_if` guards hold; also True if a guard raises, for example because it reads output."""
    try:
        return all(guard() for guard in ([guards] if callable(guards) else guards or ()))
    except Exception:
        return True
