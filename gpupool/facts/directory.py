"""Whether a node asks sssd for people, and who is in groups of the directory, as sssd says."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file

_CLIENT = shell_file(__package__, "directory.sh")
_MEMBERS = shell_file(__package__, "members.sh")
_PROGRAM = resources.files(__package__).joinpath("members_here.py").read_text(encoding="utf-8")
_AWAY = {"Online": None, "Offline": "no server answers"}


@dataclass(frozen=True)
class ClientState:
    """Which of `passwd` and `group` sssd answers, whether PAM asks it, and owner and mode of the password's file."""

    nss: tuple[str, ...] = ()
    pam: bool = False
    password: tuple[str, str] | None = None


class Client(Look[ClientState]):
    """What of a node's own configuration leads to sssd."""

    def command(self, password: str) -> StringCommand:
        """Ask; `password` is the path of a file."""
        return ask(_CLIENT, password)

    def read(self, lines: list[str]) -> ClientState:
        """Read the answer."""
        rows = [line.split() for line in lines]
        password = next(((row[1], row[2].zfill(4)) for row in rows if row[0] == "password"), None)
        return ClientState(tuple(row[1] for row in rows if row[0] == "nss"), ["pam"] in rows, password)


@dataclass(frozen=True)
class MembersState:
    """Groups of the directory (name to members), their users (name to uid and gid), and users of the node's own files.

    `away`: why nothing may be concluded from what is missing; None where the directory answers.
    """

    groups: dict[str, list[str]] = field(default_factory=dict)
    users: dict[str, tuple[int, int]] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    away: str | None = None


class Members(Look[MembersState]):
    """Who is in groups of a directory. Names are as the directory has them: they may be anything."""

    def command(self, domain: str, groups: Sequence[str]) -> StringCommand:
        """Ask for all groups at once; `domain` is what sssd calls the directory."""
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
            away=_AWAY.get(status, "sssd does not say whether a server answers"),
        )
