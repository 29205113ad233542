"""Whether a user has a password on a node; no hash leaves the node."""

from typing import Literal

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file

#: absent: no such user; none: no password; first: must be changed at the next login; own: the user's own password.
State = Literal["absent", "none", "first", "own"]

_STATE = shell_file(__package__, "passwords.sh")


class Password(Fact[State]):
    """The kind of password that a user has in the node's own files."""

    def command(self, user: str) -> StringCommand:
        """Ask for one user."""
        return ask(_STATE, user)

    def read(self, lines: list[str]) -> State:
        """Read the answer."""
        for state in ("none", "first", "own"):
            if lines == [state]:
                return state
        return "absent"
