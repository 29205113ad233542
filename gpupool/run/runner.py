"""The only module that runs the engine.

So every run that changes nodes leaves its origin in their logs, and every run on the inventory skips nodes that are
powered down.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gpupool.commit import commit_of
from gpupool.engine.report import NodeHost, Origin, Report
from gpupool.power import kept_powered_up, powered_down
from gpupool.remote.nodes import Nodes
from gpupool.target import Target
from gpupool.terminal import Screen

if TYPE_CHECKING:
    from gpupool.engine.foresight import Agree

SITE = Path(__file__).parent.parent / "deploys" / "site.py"

#: A file that pyinfra runs, or a function that calls operations, once for each node.
Steps = Path | Callable[[], object]


@dataclass(frozen=True)
class DeployRunner:
    """Runs deploys on the nodes of a target, for one command.

    Each node that a run changes gets a line in its log with the `command`, the user and the commit of the inventory.
    `screen` shows the progress of each run, `verbose` with each operation and pyinfra's log. In all
    methods, `names` selects nodes of the target; None selects all.
    """

    target: Target
    command: str
    screen: Screen | None = None
    verbose: bool = False

    def to(self, target: Target) -> "DeployRunner":
        """Return a copy for the nodes of another target."""
        return replace(self, target=target)

    def announced(self) -> "DeployRunner":
        """Print the target on the screen and return the runner."""
        if self.screen:
            self.screen.print(f"target: {self.target.where}", style="dim")
            for line in self.target.cluster.suspended:
                self.screen.print(line, style="yellow")
            if parts := self.target.not_shown:
                self.screen.print(
                    f"not shown by this testbed, which lacks the hardware: {'; '.join(parts)}", style="dim"
                )
            if names := self.target.outdated:
                self.screen.print(
                    f"{', '.join(names)}: the testbed is older than the inventory, and lacks its storage, GPUs, "
                    f"addresses or images: run `gpupool testbed up {self.target.inventory}` first",
                    style="yellow",
                )
        return self

    def plan(self, names: Collection[str] | None = None, log: Path | None = None) -> Report:
        """Return what an apply would change; see `deploy`."""
        return self.deploy(SITE, names, execute=False, log=log)

    def apply(
        self, names: Collection[str] | None = None, log: Path | None = None, agree: "Agree | None" = None
    ) -> Report:
        """Make nodes match the inventory; if a node refuses a change, no node is changed. See `deploy`.

        With `agree`, no node is changed unless it agrees to the changes that all nodes would make.
        """
        return self.deploy(SITE, names, execute=True, log=log, agree=agree)

    def deploy(
        self,
        steps: Steps,
        names: Collection[str] | None = None,
        *,
        execute: bool,
        log: Path | None = None,
        agree: "Agree | None" = None,
    ) -> Report:
        """Run steps on nodes; without `execute` nothing changes.

        Elastic nodes that Slurm has powered down are skipped and listed in `Report.asleep`; no node is powered down
        while it is being changed. A node that fails is in `Report.failures`, and does not stop other nodes. A node out
        of service that cannot be reached has not failed: it is in `Report.away`.
        """
        self.load()
        off = powered_down(self.target, names)
        if off:
            names = {node.name for node in self.target.nodes if names is None or node.name in names} - {*off}
        with self.keep_powered_up(names) if execute else nullcontext():
            report = self._run(self.target.hosts, steps, names, execute=execute, log=log, agree=agree)
        out = {node.name for node in self.target.nodes if node.drained_for is not None}
        return replace(report.without_unreached(out), asleep=off)

    def look(self, addresses: Mapping[str, str], steps: Steps) -> Report:
        """Run steps as in a plan, without changes, on machines by address; the inventory need not have them."""
        hosts = [
            NodeHost(name, (), {**self.target.ssh, "ssh_hostname": address}) for name, address in addresses.items()
        ]
        return self._run(hosts, steps, None, execute=False)

    def keep_powered_up(self, names: Collection[str] | None) -> AbstractContextManager[None]:
        """Keep elastic nodes powered up within the context, also between several runs."""
        return kept_powered_up(self.target, names)

    @staticmethod
    def load() -> None:
        """Import the engine. It replaces Python's threads and sockets, so call this before their first use."""
        import gpupool.engine.drive  # noqa: F401

    @cached_property
    def origin(self) -> Origin:
        """The command, its user and the commit of the inventory, for the log of each changed node."""
        from gpupool.remote.lock import whoami

        commit = commit_of(self.target.inventory) if self.target.inventory else ()
        return Origin(self.command, self.target.cluster.name, whoami(), *commit)

    def _run(
        self,
        hosts: list[NodeHost],
        steps: Steps,
        names: Collection[str] | None,
        *,
        execute: bool,
        log: Path | None = None,
        agree: "Agree | None" = None,
    ) -> Report:
        # pyinfra is slow to import: only commands that need nodes wait for it
        from gpupool.engine.drive import run
        from gpupool.engine.progress import Silence, shown

        addresses = {host.name: host.data["ssh_hostname"] for host in hosts if host.connector == "pool"}
        with (
            Nodes.of(self.target, addresses) as nodes,
            shown(self.screen, verbose=self.verbose) if self.screen else nullcontext(Silence()) as progress,
        ):
            if self.target.testbed is None:  # the admin's SSH configuration does not apply to a testbed
                commands = {name: {"ssh_command": nodes.command(name)} for name in addresses}
                hosts = [replace(host, data={**host.data, **commands.get(host.name, {})}) for host in hosts]
            origin = self.origin if execute else None
            return run(
                hosts,
                steps,
                execute=execute,
                refusals_first=steps == SITE,
                agree=agree,
                progress=progress,
                limit=names,
                log=log,
                origin=origin,
            )
