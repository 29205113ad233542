"""Users who have left the inventory: their accounts expire, and their sessions end. No account or file is deleted."""

import shlex
from collections.abc import Sequence
from datetime import date

from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.departed import PROCESSES, Departed, Left
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.users import DAY_0, set_ends
from gpupool.operations.work import Work
from gpupool.shell import shell_file
from gpupool.unix import USER

#: The day on which the accounts of users who have left expire, in days since 1970: 0 has no clear meaning (shadow(5)).
LONG_AGO = 1
_PRELUDE = PROCESSES + shell_file(__package__, "departed.sh")


@operation
def users(wanted: Sequence[str], groups: Sequence[str] = ()) -> Commands:
    """Close the accounts of users who are in the node's record, but not in `wanted` (names).

    Such an account expires, so that PAM and sshd refuse every login, `cron` and `at`. Its memberships of `groups` and
    all its processes outside of jobs end. Jobs belong to Slurm (`operations.accounting`). An account with an earlier
    end keeps it. If a user returns, `users.users` reopens an account that this operation has closed.
    """
    if wrong := [name for name in wanted if not USER.fullmatch(name)]:
        raise Refused(f"{wrong[0]!r} is not a valid user name")
    state = look(Departed, "the users who have left", users=wanted, groups=groups)
    work = Work(Kind.USER)
    ends = dict(state.set_ends)
    for name, left in state.left.items():
        if _close(name, state.managed[name], left, work):
            ends[name] = LONG_AGO
    if ends != state.set_ends:
        work.lines += set_ends(ends)
    yield from work.carry_out("no user has left, or all are closed", _PRELUDE)


def _close(name: str, uid: int, left: Left, work: Work) -> bool:
    """Add the commands that end a user's access; return whether the account's end changes."""
    item = f"access of user {name}"
    expires = left.end is None or left.end > date.today().toordinal() - DAY_0
    if expires:
        differs = Aspect(ABSENT, PRESENT, note="removed: not in the inventory")
        work.do(item, differs, "usermod", "-e", date.fromordinal(DAY_0 + LONG_AGO).isoformat(), "--", name)
    for group in left.groups:
        work.lines.append(f"gpasswd -d {shlex.quote(name)} {shlex.quote(group)} >/dev/null")
        work.differs(f"user {name} in group {group}", Aspect(ABSENT, PRESENT))
    # an account that is still open may get another session before it expires
    if left.processes or expires:
        work.run("end_processes", name, str(uid))
    if left.processes:
        note = f"{left.processes} outside of jobs will be ended"
        work.differs(f"processes of user {name}", Aspect("0", str(left.processes), note=note))
    return expires
