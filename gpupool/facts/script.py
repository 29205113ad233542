"""How a fact asks a node: one shell script, its values as quoted arguments, a time limit on the node itself."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyinfra.api.command import QuoteString, StringCommand

#: Last line of every answer. Without it the answer was cut short and nothing may be concluded from it.
END = "gpupool-end"
_LIMITED = re.compile(r"\btimeout -s KILL (\d+) sh -c ")


@dataclass(frozen=True)
class Joint:
    """How several questions of the same script are asked as one.

    `merge` returns the values of the one question from those of all, None where that cannot be; `part` returns of the
    lines of its answer those that answer the question with these values. ValueError if a line makes no sense.
    """

    merge: Callable[[Sequence[Sequence[str]]], Sequence[str] | None]
    part: Callable[[Sequence[str], Sequence[str]], list[str]]


class Question(StringCommand):
    """The command of a fact; see `ask`."""

    def __init__(self, text: str, values: Sequence[str], limit: int, joint: Joint | None) -> None:
        command = killed_after(limit, _to_the_end(text))
        super().__init__(*command.bits, "sh", *(QuoteString(value) for value in values))
        self.text, self.values, self.limit, self.joint = text, tuple(values), limit, joint

    @property
    def part(self) -> str:
        """The same question within a script: a shell is forked for it, which is not killed after `limit`."""
        return f"(set -- {shlex.join(self.values)}\n{_to_the_end(self.text)}) </dev/null"


def _to_the_end(text: str) -> str:
    return f"{text.strip()}\necho {END}"


def ask(text: str, *values: str, limit: int = 60, joint: Joint | None = None) -> Question:
    """Run `text` under sh with `values` as $1, $2, …; it is killed on the node after `limit` seconds.

    With `joint` the engine may ask several questions of this script in one.
    """
    return Question(text, values, limit, joint)


def killed_after(limit: int, text: str) -> StringCommand:
    """Return the command that runs `text` under sh and kills it after `limit` seconds.

    A hung NFS server hangs stat for ever; a dead look is better than a run that never ends.
    """
    return StringCommand("timeout", "-s", "KILL", str(limit), "sh", "-c", QuoteString(text))


def limit_of(command: str) -> int | None:
    """Return the seconds that `ask` gave a command on the node; None for a command of somebody else's."""
    match = _LIMITED.search(command)
    return int(match[1]) if match else None


def whole(output: list[str]) -> list[str] | None:
    """Return the lines of the answer without its end mark, or None when it was cut short."""
    if not output or output[-1].strip() != END:
        return None
    return output[:-1]
