"""One sacctmgr command for many names at once, and how commands that are alike become one.

Each command costs slurmdbd the more the more associations there are (0.1 to 0.7 s with 10,000): few is what counts.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from gpupool.change import Aspect

# names in one command, and their characters: an argument may have 128 KiB, and a removal takes 0.1 s a name
_MANY, _LONG = 500, 60_000
_END = "gpupool-end-of-load"


@dataclass(frozen=True)
class Step:
    """One sacctmgr command, for all `names` at once, what it reads, and what it does, by name."""

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
    """Make the command for one name, and for the properties of an item that it changes."""
    return Step(tuple(arguments), (name,), tuple(settings), ((item, differs or (Aspect(),)),))


def joined(steps: Sequence[Step]) -> list[Step]:
    """Join commands that differ in the name alone, at the place of the first of them."""
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
    """Return the shell text that carries out the steps and stops at the first that slurmdbd refuses, in its words."""
    # sacctmgr's usual talk is not for a log; its complaint is made one line, because the last line is what people see
    run = (
        'run() { said=$("$@" 2>&1) || { printf \'slurmdbd refuses "%.200s": %.400s\\n\' '
        '"$*" "$(printf %s "$said" | tr -s \' \\n\' \' \')" >&2; exit 1; }; }'
    )
    return "\n".join([run, *(f"run {each.command()}" for each in steps)]) + "\n"


def properties(steps: Sequence[Step]) -> dict[str, list[Aspect]]:
    """Return which properties the steps change, by item."""
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
