"""The command of a fact: one shell script with quoted arguments, which is killed on the node after a time limit."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyinfra.api.command import QuoteString, StringCommand

#: Last line of every answer. Without it, the answer is incomplete and is not used.
END = "gpupool-end"
_LIMITED = re.compile(r"\btimeout -s KILL (\d+) sh -c ")


@dataclass(frozen=True)
class Joint:
    """Two functions with which several questions of the same script are merged into one.

    `merge` returns the values of the merged question, None if it is not possible; `part` returns the lines of its
    answer that belong to a question with the given values. ValueError if a line is not valid.
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
        """The question as part of a script: it runs in a subshell, without the time limit."""
        return f"(set -- {shlex.join(self.values)}\n{_to_the_end(self.text)}) </dev/null"


def _to_the_end(text: str) -> str:
    return f"{text.strip()}\necho {END}"


def ask(text: str, *values: str, limit: int = 60, joint: Joint | None = None) -> Question:
    """Return the question that runs `text` under sh with `values` as $1, $2, …

    The node kills it after `limit` seconds. With `joint`, the engine may merge several questions of this script.
    """
    return Question(text, values, limit, joint)


def killed_after(limit: int, text: str) -> StringCommand:
    """Return the command that runs `text` under sh and kills it after `limit` seconds.

    Without a limit, `stat` would block forever while an NFS server hangs.
    """
    return StringCommand("timeout", "-s", "KILL", str(limit), "sh", "-c", QuoteString(text))


def limit_of(command: str) -> int | None:
    """Return the limit of a command of `ask`, in seconds; None for other commands."""
    match = _LIMITED.search(command)
    return int(match[1]) if match else None


def complete_lines(output: list[str]) -> list[str] | None:
    """Return the lines of the answer without its end mark; None if the answer is incomplete."""
    if not output or output[-1].strip() != END:
        return None
    return output[:-1]
