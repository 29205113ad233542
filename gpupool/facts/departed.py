"""Users whom gpupool has managed on a node, and what is left of those who have left the inventory."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.facts.users import ENDS, RECORD
from gpupool.shell import shell_file, values
from gpupool.shown import Shown

PROCESSES = shell_file(__package__, "processes.sh")
_LOOK = shell_file(__package__, "departed.sh")


@dataclass(frozen=True)
class Left(Shown):
    """Remains of a user: the first day without login (in days since 1970; None if there is none), the number of
    processes outside of jobs, and the groups of the inventory with this member.
    """

    end: int | None
    processes: int
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class DepartedState(Shown):
    """`managed`: the uids of all users in the record; `left`: those of them who have left, by name; `set_ends`: the
    ends of access that gpupool has set, in days since 1970.
    """

    managed: dict[str, int]
    left: dict[str, Left]
    set_ends: dict[str, int] = field(default_factory=dict)


class Departed(Fact[DepartedState]):
    """The record of users, and the accounts in it that are not among `users` (names) and still exist."""

    def command(self, users: Sequence[str], groups: Sequence[str]) -> StringCommand:
        """Ask for all in one command."""
        given = values(record=RECORD, ends=ENDS, groups=" ".join(groups))
        return ask(given + PROCESSES + _LOOK, *users, limit=120)

    def read(self, lines: list[str]) -> DepartedState:
        """Read the answer."""
        rows = [line.split(":") for line in lines]
        groups = [(row[1], row[2]) for row in rows if row[0] == "g"]
        left = {
            row[1]: Left(int(row[2]) if row[2] else None, int(row[3]), tuple(g for user, g in groups if user == row[1]))
            for row in rows
            if row[0] == "d"
        }
        numbers = {kind: {row[1]: int(row[2]) for row in rows if row[0] == kind} for kind in "me"}
        return DepartedState(numbers["m"], left, numbers["e"])
