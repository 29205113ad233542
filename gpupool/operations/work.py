"""The changes and commands of an operation: collected while it compares, run at the end."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyinfra.api.command import StringCommand

from gpupool.change import Aspect, Change, Kind
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Commands, Refused


@dataclass
class Work:
    """Changes of one kind by their names, lines of the script, and texts for its standard input.

    `obstacles` are reasons to do nothing. `stays`: why items are not changed, by name; the operation reports them.
    """

    kind: Kind
    changes: dict[str, Change] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    stays: dict[str, str] = field(default_factory=dict)

    def differs(
        self, item: str, *aspects: Aspect, act: str = "", refused: bool = False, kind: Kind | None = None
    ) -> None:
        """Add a change of an item, or more properties to its existing change."""
        new = Change(kind or self.kind, item, aspects or (Aspect(),), act, refused)
        known = self.changes.get(new.name)
        self.changes[new.name] = replace(known, aspects=known.aspects + new.aspects) if known else new

    def do(self, item: str, differs: Aspect, *command: str) -> None:
        """Add a command that changes a property of the item."""
        self.differs(item, differs)
        self.run(*command)

    def run(self, *command: str) -> None:
        """Add a command that belongs to other changes."""
        self.lines.append(shlex.join(command))

    def carry_out(
        self, nothing_to_do: str, prelude: str = "", end: Sequence[str] = (), at_once: int | None = None
    ) -> Commands:
        """Yield the script: `prelude`, the lines, `end`; several scripts, each with all texts, above `at_once` lines.

        Refused if there are obstacles. Without a change, `nothing_to_do` is the host's no-op message.
        """
        if self.obstacles:
            raise Refused("; ".join(self.obstacles))
        diffs.record(self.changes.values())
        if not self.changes:
            this_host().noop(nothing_to_do)
            return
        head = [prelude.strip()] if prelude else []
        stdin: Any = {"_stdin": "".join(self.texts)} if self.texts else {}
        size = at_once or max(1, len(self.lines))
        for first in range(0, max(1, len(self.lines)), size):
            yield StringCommand("\n".join([*head, *self.lines[first : first + size], *end]), **stdin)
