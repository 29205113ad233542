"""Users and groups of a node, from its name service."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file, values
from gpupool.shown import Shown

#: Ends of access that gpupool has set, one per line: NAME:DAYS. Ends set by others are not changed.
ENDS = "/var/lib/gpupool/ends"
#: Users whom gpupool has created or adopted on a node, one per line: NAME:UID.
RECORD = "/var/lib/gpupool/users"
_LOOK = values(ends=ENDS, record=RECORD) + shell_file(__package__, "users.sh")


@dataclass(frozen=True)
class UserState(Shown):
    """One line of passwd."""

    uid: int
    gid: int
    comment: str
    home: str
    shell: str


@dataclass(frozen=True)
class GroupState(Shown):
    """One line of group."""

    gid: int
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class AccountState(Shown):
    """Users and groups by name; `ends` are users' first days without login, `set_ends` the ends set by gpupool.
    `managed` are the uids in the record of users.

    Ends count days since 1970, as shadow(5) does.
    """

    users: dict[str, UserState]
    groups: dict[str, GroupState]
    ends: dict[str, int] = field(default_factory=dict)
    set_ends: dict[str, int] = field(default_factory=dict)
    managed: dict[str, int] = field(default_factory=dict)


class Accounts(Fact[AccountState]):
    """The users and groups with these names or numbers, in one command."""

    def command(self, users: Sequence[str] = (), groups: Sequence[str] = ()) -> StringCommand:
        """Ask for all in one command; a number finds the user or group with that number."""
        return ask(_LOOK, str(len(users)), *users, *groups)

    def read(self, lines: list[str]) -> AccountState:
        """Read the answer."""
        users: dict[str, UserState] = {}
        groups: dict[str, GroupState] = {}
        ends: dict[str, dict[str, int]] = {"s": {}, "e": {}, "m": {}}
        for line in lines:
            kind, name, *rest = line.split(":")
            if kind in ends:
                if rest[0]:
                    ends[kind][name] = int(rest[0])
            elif kind == "u":
                users[name] = UserState(int(rest[1]), int(rest[2]), rest[3], rest[4], rest[5])
            else:
                groups[name] = GroupState(int(rest[1]), tuple(member for member in rest[2].split(",") if member))
        return AccountState(users, groups, ends["s"], ends["e"], ends["m"])
