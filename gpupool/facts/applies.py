"""What a node's own log says of the applies that changed it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.unix import APPLY_LOCK, APPLY_LOG

_LOOK = shell_file(__package__, "applies.sh")


@dataclass(frozen=True)
class Applied:
    """One run on this node, as `gpupool.engine.audit` wrote it down; times are as `2030-01-31T08:12:00Z`.

    `ended` is "" where the end is missing: it is `under_way`, or was killed, or the node was lost. `count` are all
    changes, `changes` the names of the first of them.
    """

    run: str
    begun: str
    who: str
    command: str
    version: str
    cluster: str
    commit: str
    uncommitted: bool
    ended: str = ""
    count: int = 0
    changes: tuple[str, ...] = ()
    failure: str = ""
    under_way: bool = False


@dataclass(frozen=True)
class AppliedState:
    """All runs that a node knows of, oldest first, and how many lines of its log cannot be read."""

    runs: tuple[Applied, ...] = ()
    damaged: int = 0


class Applies(Look[AppliedState]):
    """The whole log of a node."""

    def command(self) -> StringCommand:
        """Ask for the log, and for whoever is at work."""
        return ask(_LOOK, APPLY_LOG, APPLY_LOCK)

    def read(self, lines: list[str]) -> AppliedState:
        """Return what the lines say; a line that was cut short, by a full disk say, is only counted."""
        runs: dict[str, Applied] = {}
        damaged = 0
        for line in filter(None, lines[1:]):
            try:
                _add(runs, json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                damaged += 1
        if runs and lines[:1] == ["busy"]:
            last = next(reversed(runs))
            runs[last] = replace(runs[last], under_way=not runs[last].ended)
        return AppliedState(tuple(runs.values()), damaged)


def _add(runs: dict[str, Applied], line: Mapping[str, Any]) -> None:
    name = str(line["run"])
    if "begun" in line:
        runs[name] = Applied(
            run=name,
            begun=str(line["begun"]),
            who=str(line["who"]),
            command=str(line["command"]),
            version=str(line["version"]),
            cluster=str(line["cluster"]),
            commit=str(line["commit"]),
            uncommitted=bool(line["uncommitted"]),
        )
    elif name in runs:  # its first line may have gone with an older log
        runs[name] = replace(
            runs[name],
            ended=str(line["ended"]),
            count=int(line["count"]),
            changes=tuple(map(str, line["changes"])),
            failure=str(line["failure"]),
        )
