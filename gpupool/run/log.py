"""The runs that changed nodes, from the nodes' logs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpupool.run.runner import DeployRunner
from gpupool.wording import shortened

if TYPE_CHECKING:
    from gpupool.facts.applies import Applied, AppliedState


@dataclass(frozen=True)
class Run:
    """One run, as each node recorded it."""

    nodes: Mapping[str, "Applied"]

    @property
    def first(self) -> "Applied":
        """The record of the node that was changed first."""
        return min(self.nodes.values(), key=lambda record: record.begun)

    @property
    def outcome(self) -> str:
        """The end of the run in a few words; "" if no node failed and all have ended."""
        failed = [name for name, record in self.nodes.items() if record.failure]
        open_ = [name for name, record in self.nodes.items() if not record.ended]
        if any(record.under_way for record in self.nodes.values()):
            return "under way"
        parts = [f"failed: {shortened(failed)}"] if failed else []
        return "; ".join([*parts, f"not ended: {shortened(open_)}"] if open_ else parts)


@dataclass(frozen=True)
class History:
    """All runs, oldest first; the number of damaged lines by node; failures by node; and powered down nodes."""

    runs: tuple[Run, ...]
    damaged: Mapping[str, int]
    unread: Mapping[str, str]
    asleep: tuple[str, ...]


def history(runner: DeployRunner, names: Collection[str] | None, since: str = "") -> History:
    """Return the runs of these nodes that began at `since` or later (`2030-01-31T08:12:00Z`)."""
    logs: dict[str, AppliedState] = {}

    runner.load()
    from gpupool.engine.current import cluster_and_node
    from gpupool.facts.applies import Applies
    from gpupool.operations.frame import look

    def ask() -> None:
        logs[cluster_and_node()[1].name] = look(Applies, "the log of applies")

    done = runner.deploy(ask, names, execute=False)
    done.ensure_not_interrupted()
    ordered = {node.name: logs[node.name] for node in runner.target.nodes if node.name in logs}
    runs = tuple(run for run in merged(ordered) if run.first.begun >= since)
    damaged = {name: log.damaged for name, log in ordered.items() if log.damaged}
    return History(runs, damaged, done.failures, done.asleep)


def merged(logs: Mapping[str, "AppliedState"]) -> list[Run]:
    """Return the runs of all nodes, oldest first."""
    runs: dict[str, dict[str, Applied]] = {}
    for name, log in logs.items():
        for applied in log.runs:
            runs.setdefault(applied.run, {})[name] = applied
    return sorted(map(Run, runs.values()), key=lambda run: (run.first.begun, run.first.run))
