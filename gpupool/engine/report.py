"""The input and the results of a run as frozen data, without pyinfra."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpupool.change import Change
from gpupool.documents.runs import ChangeEntry, HostEntry, ReportDocument
from gpupool.effect import Effect, together
from gpupool.errors import GpupoolError
from gpupool.reasons import Code, Reason
from gpupool.wording import changed


@dataclass(frozen=True)
class NodeHost:
    """One node of a run: its name, pyinfra groups and data (ssh_* keys, and values that roles read from `host.data`).

    `connector` is the name of a pyinfra connector: "pool" is gpupool's, over SSH; "local" and "fake" need no network.
    """

    name: str
    groups: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    connector: str = "pool"


@dataclass(frozen=True)
class Origin:
    """The origin of a run that changes nodes: the command, the inventory's cluster and commit, and the user.

    `commit` is "" outside of git; `uncommitted` means that the inventory's files differ from that commit.
    """

    command: str
    cluster: str
    who: str
    commit: str = ""
    uncommitted: bool = False


@dataclass(frozen=True)
class HostReport:
    """The result of one node: `failure` is one line for people and `reason` its code.

    `commands` is the number of commands sent, `seconds` the time spent on the node. `notes` are messages without a
    change. `waits` are the effects of changes that are only made after nodes are drained.
    """

    ok: bool
    failure: str | None
    changes: tuple[Change, ...]
    commands: int
    seconds: float
    notes: tuple[str, ...] = ()
    waits: tuple[Effect, ...] = ()
    reason: Reason | None = None

    @property
    def reached(self) -> bool:
        """Whether there was a connection to the node."""
        return self.reason is None or self.reason.code is not Code.UNREACHABLE

    @property
    def effect(self) -> Effect:
        """The effects of all changes of the node as one, with those of `waits`."""
        return together([*(change.effect for change in self.changes), *self.waits])

    def as_dict(self) -> HostEntry:
        """Return the result as plain JSON types."""
        return {
            "ok": self.ok,
            "failure": self.failure,
            "reason": str(self.reason.code) if self.reason else None,
            "effect": self.effect.what,
            "jobs": list(self.effect.jobs),
            "notes": list(self.notes),
            "changes": [_entry(change) for change in self.changes],
            "commands": self.commands,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class Report:
    """The result of a run, with the result of each node in inventory order.

    `interrupted`: Ctrl-C ended the run. `log_failure`: why the log is incomplete. `asleep`: nodes that were skipped
    because they are powered down. `away`: nodes out of service that cannot be reached; `hosts` does not have them.
    """

    hosts: Mapping[str, HostReport]
    seconds: float
    interrupted: bool = False
    log_failure: str | None = None
    asleep: tuple[str, ...] = ()
    away: tuple[str, ...] = ()

    def without_unreached(self, names: Collection[str]) -> "Report":
        """Return the report with those of these nodes that could not be reached in `away`."""
        away = tuple(name for name, host in self.hosts.items() if name in names and not host.reached)
        hosts = {name: host for name, host in self.hosts.items() if name not in away}
        return replace(self, hosts=hosts, away=away)

    @property
    def ok(self) -> bool:
        """Whether no node failed and the run was not interrupted."""
        return not self.interrupted and all(host.ok for host in self.hosts.values())

    @property
    def changed(self) -> bool:
        """Whether at least one node has a change, planned or made."""
        return any(host.changes for host in self.hosts.values())

    @property
    def failures(self) -> dict[str, str]:
        """The nodes that failed, with the reason of each."""
        return {name: host.failure or "failed" for name, host in self.hosts.items() if not host.ok}

    @property
    def grouped(self) -> dict[Change, list[str]]:
        """Each distinct change, with its nodes."""
        groups: dict[Change, list[str]] = {}
        for name, host in self.hosts.items():
            for change in host.changes:
                groups.setdefault(change, []).append(name)
        return groups

    def ensure_not_interrupted(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C ended the run."""
        if self.interrupted:
            raise KeyboardInterrupt

    def ensure_ok(self, advice: str = "") -> None:
        """Raise KeyboardInterrupt if interrupted; GpupoolError with all failures, then `advice`, if a node failed."""
        self.ensure_not_interrupted()
        if self.failures:
            lines = [f"{name}: {why}" for name, why in self.failures.items()]
            raise GpupoolError("\n".join([*lines, advice] if advice else lines))

    def as_dict(self) -> ReportDocument:
        """Return the report as plain JSON types."""
        return {
            "ok": self.ok,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "asleep": list(self.asleep),
            "out_of_service": list(self.away),
            "hosts": {name: host.as_dict() for name, host in self.hosts.items()},
        }


def _entry(change: Change) -> ChangeEntry:
    return {
        "operation": change.operation,
        "kind": str(change.kind),
        "item": change.item,
        "wanted": change.wanted,
        "actual": change.actual,
        "refused": change.refused,
        "effect": change.effect.what,
        "jobs": list(change.effect.jobs),
        "diff": changed(change),
    }
