"""The stages of a run before a change: call the deploy for each host, ask questions, compute the changes of a plan."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import pyinfra
from pyinfra.api import Host
from pyinfra.api.state import StateStage

from gpupool.change import Change
from gpupool.engine.changes import changes_of
from gpupool.engine.deploy import Deploy
from gpupool.engine.host_runs import HostRuns
from gpupool.engine.hosts import HostRun
from gpupool.engine.record import unheard
from gpupool.operations import diffs
from gpupool.operations.refusal import RefusedInPlanError
from gpupool.reasons import Code, Reason
from gpupool.wording import shortened

_HELD = Reason(Code.HELD)

#: Receives the changes that each host of a run would make; returns the differences from a plan, by the node's name.
Agree = Callable[[Mapping[str, tuple[Change, ...]]], Mapping[str, str]]


def prepare(host_runs: HostRuns, deploy: Deploy, execute: bool) -> None:
    """Call the deploy once for each host, and ask the first questions of all its operations in one command."""
    host_runs.state.set_stage(StateStage.Prepare)
    active = host_runs.active()
    host_runs.progress.stage("Prepare", len(active))
    host_runs.state.on_prepared = partial(_prepared, host_runs) if execute else None
    host_runs.each(host_runs.state.config.PARALLEL, partial(_prepare, host_runs, deploy, execute), active)
    _ask_ahead(host_runs)


def _prepare(host_runs: HostRuns, deploy: Deploy, execute: bool, host_run: HostRun) -> None:
    with host_runs.deploying(host_run), host_runs.failing(host_run, partial(host_runs.state.unfinished, host_run.host)):
        deploy.call()
    if execute or host_run.failure:
        host_runs.progress.advance()


def _prepared(host_runs: HostRuns, host: Host, op_hash: str) -> None:
    host_runs.progress.step(host_runs.by_host[host].name, host_runs.state.name(host, op_hash))


def _ask_ahead(host_runs: HostRuns) -> None:
    active = host_runs.active()
    with host_runs.validity.gather(), unheard():
        for host_run in active:
            host_runs.state.begin_all(host_run.host)
    host_runs.each(host_runs.state.config.PARALLEL, _ask_one_ahead, active)


def _ask_one_ahead(host_run: HostRun) -> None:
    with host_run.busy():
        host_run.session.ask_ahead()


def foresee(host_runs: HostRuns) -> None:
    """Compute the changes of each operation on each host, and make none."""
    host_runs.each(host_runs.state.config.PARALLEL, partial(_foresee, host_runs), host_runs.active())
    host_runs.fail_parts()


def _foresee(host_runs: HostRuns, host_run: HostRun) -> None:
    with host_runs.deploying(host_run):
        for op_hash in _operations(host_runs, host_run):
            try:
                host_runs.state.foresee(host_run.host, op_hash)
            except (Exception, SystemExit) as error:
                pyinfra.logger.warning("%s", error, exc_info=True)
                host_runs.fail_operation(host_run, op_hash, host_run.why(error), host_run.reason_of(error))
            if host_run.failure:
                break
    host_runs.progress.advance()


def _operations(host_runs: HostRuns, host_run: HostRun) -> Iterator[str]:
    """Yield the operations of a host in their order, without those of failed parts; show each as the present step."""
    for op_hash in host_runs.state.ops[host_run.host]:
        if host_runs.is_ended(host_run, op_hash):
            continue
        host_runs.progress.step(host_run.name, host_runs.state.name(host_run.host, op_hash))
        yield op_hash


def hold_unless_agreed(host_runs: HostRuns, agree: Agree) -> None:
    """Before an apply of a saved plan: plan again under the locks, and fail all hosts unless `agree` has no difference.

    A host that failed, or would fail, is a difference, too: a saved plan has none.
    """
    host_runs.progress.stage("Compare", len(host_runs.active()))
    foresee(host_runs)
    active = host_runs.active()
    foreseen = {host_run.name: changes_of(host_runs.state, host_run)[0] for host_run in active}
    failed = [host_run.name for host_run in host_runs.all() if host_run not in active]
    differences = agree(foreseen)
    for host_run in active:
        host_runs.state.forget_foreseen(host_run.host)
        diffs.forget(host_run.host)
        host_run.heard.diffs.clear()
    if failed or differences:
        why = (
            f"{shortened(failed)} would fail" if failed else f"{shortened([*differences])} differs from the saved plan"
        )
        for host_run in active:
            host_runs.fail(host_run, differences.get(host_run.name, f"not changed, because {why}"), _HELD)


def refuse_all(host_runs: HostRuns) -> None:
    """Before an apply: if an operation refuses on a host, as a plan would show, fail all hosts; nothing is changed.

    Only refusals count. An operation that fails for another reason is left to the execution, and fails its host alone.
    """
    active = host_runs.active()
    host_runs.progress.stage("Foresee", len(active))
    refusals: dict[HostRun, tuple[str, Reason]] = {}
    with unheard():
        host_runs.each(host_runs.state.config.PARALLEL, partial(_refusal, host_runs, refusals), active)
    for host_run in active:
        host_runs.state.forget_foreseen(host_run.host)
    if not refusals:
        for host_run in active:
            diffs.forget(host_run.host)
        return
    refusing = shortened([host_run.name for host_run in active if host_run in refusals])
    why = f"not changed, because apply would refuse a change of {refusing} (correct that first)"
    for host_run in active:
        host_runs.fail(host_run, *refusals.get(host_run, (why, _HELD)))


def _refusal(host_runs: HostRuns, refusals: dict[HostRun, tuple[str, Reason]], host_run: HostRun) -> None:
    """Add the first refusal of a host to `refusals`. Another failure ends its questions, or only those of its part."""
    with host_runs.deploying(host_run):
        for op_hash in _operations(host_runs, host_run):
            name, ended = host_runs.state.name(host_run.host, op_hash), host_runs.state.part(host_run.host, op_hash)
            try:
                host_runs.state.foresee(host_run.host, op_hash)
            except RefusedInPlanError as refused:
                if refused.reason.code is Code.WAITS:
                    continue
                if refused.reason.code is Code.REFUSED:
                    refusals[host_run] = f"{name}: {refused}", refused.reason
                    break
            except Exception:
                pyinfra.logger.debug("%s", name, exc_info=True)
            else:
                continue
            if not ended:
                break
    host_runs.progress.advance()
