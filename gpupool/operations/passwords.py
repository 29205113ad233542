"""A user's first password, which must be changed at the first login: kept in memory, and on the node as a hash."""

from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.change import Aspect, Change, Kind
from gpupool.facts.passwords import Password
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.shell import values


@dataclass(frozen=True)
class Secret:
    """A text that `repr` does not show."""

    text: str = field(repr=False)


@operation
def first(user: str, password: Secret, reset: bool = False) -> Commands:
    """Give a user a password that must be changed at the next login; with `reset`, also replace the user's own.

    A first password that was not used yet is always replaced.
    """
    state = look(Password, f"whether {user} has a password", user=user)
    if state == "absent":
        raise Refused(f"there is no user {user} here yet: run gpupool apply")
    if state == "own" and not reset:
        this_host().noop(f"{user} has a password")
        return
    differs = Aspect("must be changed at the first login", state, note="must be changed at the first login")
    diffs.record([Change(Kind.USER, f"password of {user}", (differs,))])
    # if the password cannot be marked as expired, the account is locked: it must not stay valid unchanged
    script = 'chpasswd && { chage -d 0 -- "$user" || { usermod -L -- "$user"; exit 1; }; }'
    yield StringCommand(f"{values(user=user)}{script}", _stdin=f"{user}:{password.text}\n")
