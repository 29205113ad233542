"""What goes into a run and what comes out of it: plain frozen data, no pyinfra."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpupool.change import Change
from gpupool.effect import Effect, together
from gpupool.errors import GpupoolError
from gpupool.reasons import Code, Reason
from gpupool.wording import changed


@dataclass(frozen=True)
class NodeHost:
    """One node to work on: its name, pyinfra groups and data (ssh_* keys and whatever roles read from `host.data`).

    `connector` is pyinfra's name for the way to it: "pool" is ours, over SSH; "local" and "fake" need no network.
    """

    name: str
    groups: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    connector: str = "pool"


@dataclass(frozen=True)
class Origin:
    """Why a run changes nodes: the command, the inventory's cluster, the user, and the inventory's commit.

    `commit` is "" outside of git; `uncommitted` means that the inventory's files differ from that commit.
    """

    command: str
    cluster: str
    who: str
    commit: str = ""
    uncommitted: bool = False


@dataclass(frozen=True)
class HostReport:
    """The result of one node: `failure` is one line for people and `reason` its code, `commands` were sent to it.

    `seconds` is the time spent on it. `notes` are lines that people should read though nothing changes. `waits` is what
    cannot be changed yet.
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
        """What all changes of the node lead to, and what it waits for."""
        return together([*(change.effect for change in self.changes), *self.waits])

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON types."""
        return {
            "ok": self.ok,
            "failure": self.failure,
            "reason": str(self.reason.code) if self.reason else None,
            "effect": self.effect.what,
            "jobs": list(self.effect.jobs),
            "notes": list(self.notes),
            "changes": [{**change.as_dict(), "diff": changed(change)} for change in self.changes],
            "commands": self.commands,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class Report:
    """A whole run: every node that was asked for, in inventory order.

    `interrupted` when Ctrl-C ended it early; `log_failure` says why the log could not be written to its end. `asleep`
    are nodes that were passed over because they are off.
    """

    hosts: Mapping[str, HostReport]
    seconds: float
    interrupted: bool = False
    log_failure: str | None = None
    asleep: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Every node got through, and nobody pressed Ctrl-C."""
        return not self.interrupted and all(host.ok for host in self.hosts.values())

    @property
    def changed(self) -> bool:
        """At least one node has a change, pending or done."""
        return any(host.changes for host in self.hosts.values())

    @property
    def failures(self) -> dict[str, str]:
        """The nodes that failed, with the reason of each."""
        return {name: host.failure or "failed" for name, host in self.hosts.items() if not host.ok}

    @property
    def grouped(self) -> dict[Change, list[str]]:
        """Each change once, with the nodes that it is for."""
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
        """Raise KeyboardInterrupt, or a GpupoolError with each node that failed, and the advice in its last line."""
        self.ensure_not_interrupted()
        if self.failures:
            lines = [f"{name}: {why}" for name, why in self.failures.items()]
            raise GpupoolError("\n".join([*lines, advice] if advice else lines))

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON types."""
        return {
            "ok": self.ok,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "asleep": list(self.asleep),
            "hosts": {name: host.as_dict() for name, host in self.hosts.items()},
        }
