"""The stage of an apply that changes nodes: one operation after the other, each on all its hosts in parallel.

pyinfra's own run_ops would end the whole run if one operation raises on one host.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pyinfra
from pyinfra.api import FunctionCommand
from pyinfra.api.command import PyinfraCommand
from pyinfra.api.exceptions import PyinfraError
from pyinfra.api.operations import run_host_op
from pyinfra.api.state import StateOperationHostData, StateStage
from pyinfra.context import ctx_host

from gpupool.engine.audit import Audit
from gpupool.engine.explain import reason
from gpupool.engine.host_runs import HostRuns
from gpupool.engine.hosts import HostRun
from gpupool.reasons import Reason


class _StoppedError(Exception):
    """Raised instead of a further command after Ctrl-C."""


def execute(host_runs: HostRuns, audit: Audit | None) -> None:
    """Run all operations; with `audit`, each node gets an audit line before its first change."""
    state = host_runs.state
    state.set_stage(StateStage.Execute)
    state.is_executing = True
    active = host_runs.active()
    try:
        order: list[str] = state.get_op_order()  # type: ignore[no-untyped-call]
    except PyinfraError as error:
        # Two hosts reached the same call sites of the deploy in different orders.
        for host_run in active:
            host_runs.fail(host_run, f"cannot order the steps of the deploy for all nodes: {reason(error)}")
        return
    for host_run in active:
        if audit:
            host_run.session.before_change = partial(audit.begin, host_run)
        operations = state.ops[host_run.host]
        host_run.left = len(operations)
        for data in operations.values():
            data.command_generator = _watched(host_runs, data)
    host_runs.progress.stage("Execute", sum(host_run.left for host_run in active))
    for op_hash in order:
        ready = [host_run for host_run in host_runs.active() if op_hash in state.ops[host_run.host]]
        if ready:
            arguments = state.get_op_meta(op_hash).global_arguments
            # The configured number of hosts, unless the role sets another.
            width = 1 if arguments["_serial"] else arguments["_parallel"]
            host_runs.each(width, partial(_execute, host_runs, op_hash), ready)
    host_runs.fail_parts()


def _execute(host_runs: HostRuns, op_hash: str, host_run: HostRun) -> None:
    if host_runs.is_ended(host_run, op_hash):
        host_run.left -= 1
        host_runs.progress.advance()
        return
    host_runs.progress.step(host_run.name, host_runs.state.name(host_run.host, op_hash))
    failed, code = None, Reason()
    with host_run.busy(), ctx_host.use(host_run.host):
        try:
            if not run_host_op(host_runs.state, host_run.host, op_hash):
                failed, code = host_run.why(), host_run.reason_of()
        except _StoppedError:
            return
        except Exception as error:
            pyinfra.logger.warning("%s", error, exc_info=True)
            failed, code = host_run.why(error), host_run.reason_of(error)
    host_run.left -= 1
    host_runs.progress.advance()
    if failed is not None:
        host_runs.fail_operation(host_run, op_hash, failed, code)
    if host_run.failure is not None:
        host_runs.progress.advance(host_run.left)


def _watched(host_runs: HostRuns, data: StateOperationHostData) -> Callable[[], Iterator[PyinfraCommand]]:
    """Return the operation's commands; after Ctrl-C, no further command begins."""
    commands = data.command_generator

    def watched() -> Iterator[PyinfraCommand]:
        for command in commands():
            if host_runs.interrupted:
                raise _StoppedError
            if isinstance(command, FunctionCommand):
                with host_runs.validity.function():
                    yield command
            else:
                yield command

    return watched
