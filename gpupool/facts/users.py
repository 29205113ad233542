"""Users and groups of a node, as its name service knows them."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask


@dataclass(frozen=True)
class UserState:
    """One line of passwd."""

    uid: int
    gid: int
    comment: str
    home: str
    shell: str


@dataclass(frozen=True)
class GroupState:
    """One line of group."""

    gid: int
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class AccountState:
    """Users and groups by name."""

    users: dict[str, UserState]
    groups: dict[str, GroupState]


class Accounts(Look[AccountState]):
    """The users and groups with these names or numbers, in one command."""

    def command(self, users: Sequence[str] = (), groups: Sequence[str] = ()) -> StringCommand:
        """Ask for all at once; a number finds whoever has that number."""
        # getent without keys would list everybody: "root" is always there and always asked for
        return ask(
            'cut=$1; shift; n=0; for key in "$@"; do shift; n=$((n+1)); if [ $n -le "$cut" ]; then '
            'set -- "$@" "$key"; else group="${group-} $key"; fi; done\n'
            "getent passwd root \"$@\" | sed 's/^/u:/'; getent group root ${group-} | sed 's/^/g:/'",
            str(len(users)), *users, *groups,
        )  # fmt: skip

    def read(self, lines: list[str]) -> AccountState:
        """Read the answer."""
        users: dict[str, UserState] = {}
        groups: dict[str, GroupState] = {}
        for line in lines:
            kind, name, *rest = line.split(":")
            if kind == "u":
                users[name] = UserState(int(rest[1]), int(rest[2]), rest[3], rest[4], rest[5])
            else:
                groups[name] = GroupState(int(rest[1]), tuple(member for member in rest[2].split(",") if member))
        return AccountState(users, groups)
