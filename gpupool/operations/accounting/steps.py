"""sacctmgr commands for many names, joined from commands that differ only in the name.

The time of each command grows with the number of associations (0.1 to 0.7 s with 10,000), so few commands are best.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from gpupool.change import Aspect

# maximum names in one command, and their characters: an argument has at most 128 KiB, a removal takes 0.1 s per name
_MANY, _LONG = 500, 60_000
_END = "gpupool-end-of-load"


@dataclass(frozen=True)
class Step:
    """One sacctmgr command for all `names`, with its standard input (`text`) and its changes by item."""

    arguments: tuple[str, ...]
    names: tuple[str, ...]
    settings: tuple[str, ...]
    changes: tuple[tuple[str, tuple[Aspect, ...]], ...]
    text: str = ""

    def command(self) -> str:
        """Return the shell command; {} in the arguments stands for the names."""
        named = [word.replace("{}", ",".join(self.names)) for word in self.arguments]
        line = shlex.join(["sacctmgr", "-iQ", *named, *self.settings])
        return f"{line} <<'{_END}'\n{self.text}\n{_END}" if self.text else f"{line} </dev/null"


def step(arguments: Sequence[str], name: str, settings: Sequence[str], item: str, *differs: Aspect) -> Step:
    """Return the command for one name, with the item and the properties that it changes."""
    return Step(tuple(arguments), (name,), tuple(settings), ((item, differs or (Aspect(),)),))


def joined(steps: Sequence[Step]) -> list[Step]:
    """Join commands that differ only in the name, at the position of the first."""
    alike: dict[tuple[object, ...], list[Step]] = {}
    for each in steps:
        alike.setdefault((each.arguments, each.settings), []).append(each)
    return [
        Step(
            arguments=some[0].arguments,
            names=tuple(name for each in some for name in each.names),
            settings=some[0].settings,
            changes=tuple(change for each in some for change in each.changes),
        )
        for group in alike.values()
        for some in _short(group)
    ]


def script(steps: Sequence[Step]) -> str:
    """Return the shell text that runs the steps and stops with slurmdbd's message at the first refused step."""
    # only sacctmgr's error is printed, as one line: users see the last line of the output
    run = (
        'run() { output=$("$@" 2>&1) || { printf \'slurmdbd refuses "%.200s": %.400s\\n\' '
        '"$*" "$(printf %s "$output" | tr -s \' \\n\' \' \')" >&2; exit 1; }; }'
    )
    return "\n".join([run, *(f"run {each.command()}" for each in steps)]) + "\n"


def properties(steps: Sequence[Step]) -> dict[str, list[Aspect]]:
    """Return the properties that the steps change, by item."""
    changes: dict[str, list[Aspect]] = {}
    for each in steps:
        for item, differs in each.changes:
            changes.setdefault(item, []).extend(differs)
    return changes


def _short(group: Sequence[Step]) -> list[list[Step]]:
    parts: list[list[Step]] = [[]]
    length = 0
    for each in group:
        added = sum(len(name) + 1 for name in each.names)
        if parts[-1] and (length + added > _LONG or len(parts[-1]) == _MANY):
            parts.append([])
            length = 0
        parts[-1].append(each)
        length += added
    return parts
