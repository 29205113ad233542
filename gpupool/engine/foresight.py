"""The stages of a run before a change: call the deploy for each host, ask questions, compute the changes of a plan."""

from functools import partial

from pyinfra.api import Host
from pyinfra.api.state import StateStage

from gpupool.engine.deploy import Deploy
from gpupool.engine.host_runs import HostRuns
from gpupool.engine.hosts import HostRun
from gpupool.engine.record import unheard


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


def _foresee(host_runs: HostRuns, host_run: HostRun) -> None:
    with host_runs.deploying(host_run):
        for op_hash in host_runs.state.ops[host_run.host]:
            host_runs.progress.step(host_run.name, host_runs.state.name(host_run.host, op_hash))
            with host_runs.failing(host_run, partial(host_runs.state.name, host_run.host, op_hash)):
                host_runs.state.foresee(host_run.host, op_hash)
            if host_run.failure:
                break
    host_runs.progress.advance()
