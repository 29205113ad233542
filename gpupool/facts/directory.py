"""Whether a node asks sssd for users, and the members of groups of the directory, from sssd."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_CLIENT = shell_file(__package__, "directory.sh")
_MEMBERS = shell_file(__package__, "members.sh")
_PROGRAM = resources.files(__package__).joinpath("members_here.py").read_text(encoding="utf-8")
_AWAY = {"Online": None, "Offline": "no server answers"}


@dataclass(frozen=True)
class ClientState(Shown):
    """The databases (`passwd`, `group`) that use sssd, whether PAM does, and owner and mode of the password's file."""

    nss: tuple[str, ...] = ()
    pam: bool = False
    password: tuple[str, str] | None = None


class Client(Fact[ClientState]):
    """The parts of a node's configuration that use sssd."""

    def command(self, password: str) -> StringCommand:
        """Ask for NSS, PAM and the file; `password` is its path."""
        return ask(_CLIENT, password)

    def read(self, lines: list[str]) -> ClientState:
        """Read the answer."""
        rows = [line.split() for line in lines]
        password = next(((row[1], row[2].zfill(4)) for row in rows if row[0] == "password"), None)
        return ClientState(tuple(row[1] for row in rows if row[0] == "nss"), ["pam"] in rows, password)


@dataclass(frozen=True)
class MembersState(Shown):
    """Groups of the directory (name to members), their users (name to uid and gid), and local users (name to uid).

    `away`: why the answer may be incomplete; None if the directory answers.
    """

    groups: dict[str, list[str]] = field(default_factory=dict)
    users: dict[str, tuple[int, int]] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    away: str | None = None


class Members(Fact[MembersState]):
    """The members of groups of a directory. Names are unchecked and may contain any character."""

    def command(self, domain: str, groups: Sequence[str]) -> StringCommand:
        """Ask for all groups in one command; `domain` is sssd's name of the directory."""
        return ask(_MEMBERS, _PROGRAM, domain, *groups, limit=180)

    def read(self, lines: list[str]) -> MembersState:
        """Read the answer."""
        answers = {kind: rest for kind, _, rest in (line.partition(":") for line in lines)}
        if "M" not in answers or "X" in answers:
            return MembersState(away=answers.get("X") or "there is no answer from sssd")
        read = json.loads(answers["M"])
        status = answers.get("S", "").strip()
        return MembersState(
            groups={name: members for name, (_, members) in read["groups"].items()},
            users={name: (uid, gid) for name, (uid, gid) in read["users"].items()},
            local=read["local"],
            away=_AWAY.get(status, "sssd does not report whether a server answers"),
        )
