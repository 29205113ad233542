"""All hosts of a run: do work on many of them in parallel, and mark a host as failed."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyinfra
from gevent.pool import Pool
from pyinfra.api import Config, Host
from pyinfra.api.state import MAX_PARALLEL
from pyinfra.context import ctx_config, ctx_host

from gpupool.engine.deploy import Deploy
from gpupool.engine.explain import reason
from gpupool.engine.hosts import HostRun, inventory_of
from gpupool.engine.progress import Progress
from gpupool.engine.report import NodeHost
from gpupool.engine.session import FACT, FactValidity, Session
from gpupool.engine.ssh import ANSWER_SECONDS
from gpupool.engine.state import PoolState
from gpupool.reasons import Reason

PARALLEL = 200  # nodes at work at the same time
FAILED = Reason()


class HostRuns:
    """All hosts of one run, and pyinfra's state of the run."""

    def __init__(
        self, nodes: Sequence[NodeHost], deploy: Deploy, progress: Progress, limit: Collection[str] | None
    ) -> None:
        self.progress = progress
        self.interrupted = False
        self.validity = FactValidity()
        self._workers = Pool()
        inventory = inventory_of(nodes)
        chosen = {
            host: node.name for node, host in zip(nodes, inventory, strict=True) if limit is None or node.name in limit
        }
        self.state = PoolState()
        self.state.cwd = str(Path.cwd())
        self.state.current_deploy_filename = self.state.current_exec_filename = deploy.filename
        self.state.print_fact_output = FACT  # type: ignore[assignment]  # by this the session distinguishes facts from operations
        config = Config(PARALLEL=min(len(nodes), PARALLEL, MAX_PARALLEL), DIFF=True, CONNECT_TIMEOUT=ANSWER_SECONDS)
        self.state.init(inventory, config, initial_limit=list(chosen))
        self.state.sessions = {host: Session(host, self.validity) for host in inventory}
        self.by_host: dict[Host, HostRun] = {
            host: HostRun(name, host, self.state.sessions[host]) for host, name in chosen.items()
        }

    def all(self) -> list[HostRun]:
        """Return all hosts of the run."""
        return list(self.by_host.values())

    def active(self) -> list[HostRun]:
        """Return the hosts that are connected and have not failed."""
        return [host_run for host, host_run in self.by_host.items() if host in self.state.active_hosts]

    def each(self, width: int, work: Callable[[HostRun], None], host_runs: Sequence[HostRun]) -> None:
        """Do the work on all `host_runs`, on `width` of them at the same time; return when it is done on all."""
        self._workers = Pool(width)
        for host_run in host_runs:
            self._workers.spawn(self._one, work, host_run)
        self._workers.join()

    def _one(self, work: Callable[[HostRun], None], host_run: HostRun) -> None:
        try:
            work(host_run)
        except Exception as error:
            # A bug of gpupool: otherwise the error would be lost with the greenlet, and the host would look correct.
            pyinfra.logger.error("%s", error, exc_info=True)
            self.fail(host_run, f"gpupool itself failed: {reason(error)}")

    @contextmanager
    def deploying(self, host_run: HostRun) -> Iterator[None]:
        """Run code of a deploy for this host within the context: pyinfra's host and configuration are set."""
        with host_run.busy(), ctx_config.use(self.state.config.copy()), ctx_host.use(host_run.host):
            yield

    @contextmanager
    def failing(self, host_run: HostRun, operation: Callable[[], str | None]) -> Iterator[None]:
        """Mark the host as failed if the code within raises, also SystemExit; `operation` names what raised."""
        try:
            yield
        except (Exception, SystemExit) as error:
            pyinfra.logger.warning("%s", error, exc_info=True)
            text, name = host_run.why(error), operation()
            self.fail(host_run, f"{name}: {text}" if name else text, host_run.reason_of(error))

    def fail(self, host_run: HostRun, text: str, code: Reason = FAILED) -> None:
        """Mark a host as failed, with the text and the code of the failure; after Ctrl-C, do nothing."""
        if self.interrupted:
            return
        host_run.reason = code
        text = "; ".join([text, *(why for why, _ in host_run.parts.values())])
        host_run.failure = text = f"{text} ({host_run.clock})" if host_run.clock else text
        self.state.failed_hosts.add(host_run.host)
        self.state.active_hosts.discard(host_run.host)
        pyinfra.logger.error("%s: %s", host_run.name, text)
        self.progress.failed(host_run.name, text)

    def fail_operation(self, host_run: HostRun, op_hash: str, text: str, code: Reason) -> None:
        """Note the failure of an operation: it ends the work on its host, or only that on its part."""
        text = f"{self.state.name(host_run.host, op_hash)}: {text}"
        part = self.state.part(host_run.host, op_hash)
        if part:
            host_run.parts[part] = text, code
            pyinfra.logger.error("%s: %s", host_run.name, text)
        else:
            self.fail(host_run, text, code)

    def is_ended(self, host_run: HostRun, op_hash: str) -> bool:
        """Return whether an operation is not to be run, because another one of its part has failed."""
        return self.state.part(host_run.host, op_hash) in host_run.parts

    def fail_parts(self) -> None:
        """Mark the hosts as failed of which only parts have failed, when their other work is done."""
        for host_run in self.active():
            if failures := list(host_run.parts.values()):
                host_run.parts = {}
                self.fail(host_run, "; ".join(why for why, _ in failures), failures[0][1])

    def stop(self, grace: float) -> None:
        """Stop after Ctrl-C: running commands have `grace` seconds to end; a second Ctrl-C stops at once."""
        self.interrupted = True
        try:
            if self._workers and self.state.is_executing:
                self.progress.note(f"stopping: running commands have {grace:g} s to end (Ctrl-C again to stop now)")
                self._workers.join(timeout=grace)
            self._workers.kill(timeout=1)
        except KeyboardInterrupt:
            self._workers.kill(block=False)
