"""A fake runner: deploys return reports from data, and each run is recorded with its nodes, in order."""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from changing import change_of

from gpupool.engine.foresight import Agree
from gpupool.engine.report import HostReport, Report
from gpupool.errors import GpupoolError
from gpupool.reasons import Reason
from gpupool.run.observer import Observer
from gpupool.run.runner import SITE, DeployRunner, Steps


@dataclass(frozen=True)
class FakeRunner(DeployRunner):
    """A fake runner.

    `runs` has each run as (name, nodes): "plan", "apply", "look at machines", or the name of the steps. `changes` are
    the operations that a run would do or has done on a node, by (name, node). `failures` are texts by the same keys,
    and `reasons` their codes. `off` nodes are in no report; `unreached` nodes got no command. Runs in `interrupted` end
    by Ctrl-C. `effects` are called with a run.
    """

    runs: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    changes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    reasons: dict[tuple[str, str], Reason] = field(default_factory=dict)
    off: set[str] = field(default_factory=set)
    interrupted: set[str] = field(default_factory=set)
    effects: dict[str, Callable[[tuple[str, ...]], None]] = field(default_factory=dict)
    unreached: set[str] = field(default_factory=set)
    looked_at: list[str] = field(default_factory=list)

    @staticmethod
    def load() -> None:
        """Import nothing."""

    def keep_powered_up(self, names: Collection[str] | None) -> AbstractContextManager[None]:
        """Record the call; no machine is kept powered up."""
        self.runs.append(("keep powered up", tuple(names or ())))
        return nullcontext()

    def deploy(
        self,
        steps: Steps,
        names: Collection[str] | None = None,
        *,
        execute: bool,
        log: Path | None = None,
        agree: Agree | None = None,
    ) -> Report:
        """Return the report of a run, which is not one of a saved plan."""
        assert agree is None
        if steps == SITE:
            return self._report("apply" if execute else "plan", names)
        function = steps.func if isinstance(steps, partial) else steps
        return self._report(getattr(function, "__name__", str(function)), names)

    def look(self, addresses: Mapping[str, str], steps: Steps) -> Report:
        """Run the steps once for each machine, with `looked_at` as its name."""
        for name in addresses:
            self.looked_at.append(name)
            assert callable(steps)
            steps()
        return self._report("look at machines", list(addresses))

    def _report(self, what: str, names: Collection[str] | None) -> Report:
        wanted = {node.name for node in self.target.nodes} if names is None else {*names}
        ordered = (*(node.name for node in self.target.nodes if node.name in wanted),)
        ordered += tuple(name for name in wanted if name not in ordered)
        self.runs.append((what, ordered))
        if effect := self.effects.get(what):
            effect(ordered)
        hosts = {name: self._host(what, name) for name in ordered if name not in self.off}
        return Report(hosts, 0.0, interrupted=what in self.interrupted)

    def _host(self, what: str, name: str) -> HostReport:
        why = self.failures.get((what, name))
        changes = tuple(change_of(text) for text in self.changes.get((what, name), ()))
        reason = self.reasons.get((what, name), Reason()) if why else None
        return HostReport(why is None, why, changes, 0 if name in self.unreached else 1, 0.0, reason=reason)


class Notes(Observer):
    """Records the calls of an observer."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []
        self.ends: dict[str, tuple[str, str]] = {}
        self.warnings: dict[str, str] = {}

    def step(self, node: str, what: str) -> None:
        """Record the step."""
        self.steps.append((node, what))

    def ended(self, node: str, outcome: str, why: str) -> None:
        """Record the outcome."""
        self.ends[node] = (outcome, why)

    def warning(self, node: str, what: str) -> None:
        """Record the warning."""
        self.warnings[node] = what


class FakeHold:
    """A lock that is lost after some calls of `ensure`."""

    def __init__(self, looks: int = 10_000) -> None:
        self.looks = looks

    def ensure(self) -> None:
        """Raise if the lock is lost."""
        self.looks -= 1
        if self.looks < 0:
            raise GpupoolError("the connection that holds the lock is lost")
