"""A node's log of the applies that changed it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown
from gpupool.unix import APPLY_LOCK, APPLY_LOG

_LOOK = shell_file(__package__, "applies.sh")


@dataclass(frozen=True)
class Applied(Shown):
    """One run on this node, as `gpupool.engine.audit` recorded it; times have the form `2030-01-31T08:12:00Z`.

    `ended` is "" if the run is `under_way`, was killed or lost the connection. `count` is the number of all changes,
    `changes` are the names of the first ones.
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
class AppliedState(Shown):
    """All runs in a node's log, oldest first, and the number of lines that cannot be parsed."""

    runs: tuple[Applied, ...] = ()
    damaged: int = 0


class Applies(Fact[AppliedState]):
    """The whole log of a node."""

    def command(self) -> StringCommand:
        """Ask for the log, and whether a run holds the lock."""
        return ask(_LOOK, APPLY_LOG, APPLY_LOCK)

    def read(self, lines: list[str]) -> AppliedState:
        """Return the runs; a line that is incomplete, for example after a full disk, is only counted."""
        runs: dict[str, Applied] = {}
        damaged = 0
        for line in filter(None, lines[1:]):
            try:
                _add(runs, json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                damaged += 1
        if runs and lines[:1] == ["busy"]:
            last = next(reversed(runs))
            runs[last] = replace(runs[last], under_way=not runs[last].ended)
        return AppliedState(tuple(runs.values()), damaged)


def _word(value: Any) -> str:
    """Return a value as one line: a node can write anything into its log, also lines that look like other runs."""
    return " ".join(str(value).split())


def _add(runs: dict[str, Applied], line: Mapping[str, Any]) -> None:
    name = _word(line["run"])
    if "begun" in line:
        runs[name] = Applied(
            run=name,
            begun=_word(line["begun"]),
            who=_word(line["who"]),
            command=_word(line["command"]),
            version=_word(line["version"]),
            cluster=_word(line["cluster"]),
            commit=_word(line["commit"]),
            uncommitted=bool(line["uncommitted"]),
        )
    elif name in runs:  # otherwise its first line was in a log that was already deleted
        runs[name] = replace(
            runs[name],
            ended=_word(line["ended"]),
            count=int(line["count"]),
            changes=tuple(map(_word, line["changes"])),
            failure=_word(line["failure"]),
        )
