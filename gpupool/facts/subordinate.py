"""Subordinate uids and gids (subuid(5)): the numbers that users may use in a user namespace."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "subordinate.sh")


@dataclass(frozen=True)
class Range(Shown):
    """The range of `count` numbers from `first`; `owner` is a name, or a number as text."""

    owner: str
    first: int
    count: int


@dataclass(frozen=True)
class SubordinateState(Shown):
    """All ranges of /etc/subuid and /etc/subgid, and the numbers of real users and groups above 65535."""

    users: tuple[Range, ...]
    groups: tuple[Range, ...]
    taken: tuple[int, ...]


class Subordinate(Fact[SubordinateState]):
    """The ranges of a node, in one command."""

    def command(self) -> StringCommand:
        """Ask for both files and the numbers of users and groups."""
        return ask(_LOOK)

    def read(self, lines: list[str]) -> SubordinateState:
        """Read the answer."""
        ranges: dict[str, list[Range]] = {"u": [], "g": []}
        taken = []
        for line in lines:
            kind, owner, *numbers = line.split(":")
            if kind == "t":
                taken.append(int(owner))
            elif len(numbers) == 2 and all(number.isdigit() for number in numbers):
                ranges[kind].append(Range(owner, int(numbers[0]), int(numbers[1])))
        return SubordinateState(tuple(ranges["u"]), tuple(ranges["g"]), tuple(taken))
