"""Users and groups with the same numbers everywhere: one look, one command, and nothing is ever deleted."""

import shlex
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool import unix as unix_names
from gpupool.facts.users import Accounts, AccountState
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.refusal import refuse
from gpupool.wanted import User

_CHUNK = 200  # commands in one remote call: far below the 128 KiB that one argument may have
Commands = Generator[StringCommand, None, None]


@operation()
def groups(wanted: dict[str, int]) -> Commands:
    """Make groups (name -> gid) that are missing. A number that differs, or is taken, is refused in words."""
    if wrong := [name for name in wanted if not unix_names.GROUP.fullmatch(name)]:
        yield from refuse(f"{wrong[0]!r} is not a valid group name")
        return
    state = this_host().get_fact(Accounts, users=[], groups=[*wanted, *map(str, wanted.values())]) if wanted else None
    if state is None:
        if wanted:
            yield from refuse("cannot read the groups: no answer from getent within 60 s")
        else:
            this_host().noop("no groups wanted")
        return
    complaints, missing = [], {}
    for name, gid in wanted.items():
        taken = next((other for other, group in state.groups.items() if group.gid == gid and other != name), None)
        if name in state.groups and state.groups[name].gid != gid:
            complaints.append(
                f"group {name} has gid {state.groups[name].gid} here, wanted {gid}: files would change hands, "
                f"so change it by hand (groupmod -g {gid} {name}, then chgrp)"
            )
        elif name not in state.groups and taken:
            complaints.append(f"group {name}: gid {gid} belongs to group {taken} here")
        elif name not in state.groups:
            missing[name] = gid
    yield from _run(
        {f"group {name}": f"gid {gid}\n" for name, gid in missing.items()},
        [f"groupadd -g {gid} -- {shlex.quote(name)}" for name, gid in missing.items()],
        complaints,
        f"{len(wanted)} groups: as wanted",
    )


@operation()
def users(wanted: list[User], managed_groups: list[str] | None = None) -> Commands:
    """Make users, without homes, and bring primary group, further groups, home, shell and comment in line.

    Never deletes a user and never changes a uid: that is refused in words. Membership is added; it is taken away
    only from the groups named in `managed_groups`.
    """
    managed = managed_groups or []
    if wrong := _wrong(wanted):
        yield from refuse(wrong)
        return
    if not wanted:
        this_host().noop("no users wanted")
        return
    asked = list(dict.fromkeys([name for user in wanted for name in (user.group, *user.groups)] + managed))
    keys = [key for user in wanted for key in (user.name, str(user.uid))]
    state = this_host().get_fact(Accounts, users=keys, groups=asked)
    if state is None:
        yield from refuse("cannot read the users: no answer from getent within 60 s")
        return
    changes: dict[str, str | None] = {}
    lines: list[str] = []
    complaints: list[str] = []
    for user in wanted:
        _compare(user, state, managed, changes, lines, complaints)
    yield from _run(changes, lines, complaints, f"{len(wanted)} users: as wanted")


def _compare(
    user: User,
    state: AccountState,
    managed: list[str],
    changes: dict[str, str | None],
    lines: list[str],
    complaints: list[str],
) -> None:
    name = shlex.quote(user.name)
    now = state.users.get(user.name)
    taken = next((other for other, found in state.users.items() if found.uid == user.uid and other != user.name), None)
    member = {group for group in (*user.groups, *managed) if group in state.groups}
    member = {group for group in member if user.name in state.groups[group].members}
    if now is None and taken:
        complaints.append(f"user {user.name}: uid {user.uid} belongs to user {taken} here")
    elif now is None:
        options = ["-u", str(user.uid), "-g", user.group, "-d", user.home, "-s", user.shell, "-c", user.comment]
        # -M: homes belong to the storage; -l: no sparse lastlog of gigabytes for a large uid
        # useradd takes an @ for a slip of the hand
        odd = ["--badname"] if "@" in user.name else []
        lines.append(shlex.join(["useradd", *odd, "-M", "-N", "-l", *options, "--", user.name]))
        changes[f"user {user.name}"] = f"uid {user.uid}, group {user.group}\n"
    elif now.uid != user.uid:
        complaints.append(
            f"user {user.name} has uid {now.uid} here, wanted {user.uid}: files would change hands, so change it by "
            f"hand (usermod -u {user.uid} {user.name}, then chown)"
        )
        return
    else:
        primary = next((group for group, found in state.groups.items() if found.gid == now.gid), str(now.gid))
        pairs = {
            "-g": (primary, user.group),
            "-d": (now.home, user.home),
            "-s": (now.shell, user.shell),
            "-c": (now.comment, user.comment),
        }
        different = {option: pair for option, pair in pairs.items() if pair[0] != pair[1]}
        if different:
            options = [word for option, (_, after) in different.items() for word in (option, after)]
            lines.append(shlex.join(["usermod", *options, "--", user.name]))
            changes[f"user {user.name}"] = "".join(
                f"{b or '(none)'} becomes {a or '(none)'}\n" for b, a in different.values()
            )
    for group in user.groups:
        if group not in member and group != user.group:
            lines.append(f"gpasswd -a {name} {shlex.quote(group)} >/dev/null")
            changes[f"user {user.name} in group {group}"] = None
    for group in sorted(member & set(managed) - set(user.groups)):
        lines.append(f"gpasswd -d {name} {shlex.quote(group)} >/dev/null")
        changes[f"user {user.name} no longer in group {group}"] = None


def _wrong(wanted: list[User]) -> str | None:
    for user in wanted:
        if not unix_names.USER.fullmatch(user.name):
            return f"{user.name!r} is not a valid user name"
        for value in (user.comment, user.home, user.shell):
            if unix_names.breaks_passwd(value):
                return f"user {user.name}: {value!r} contains a character that passwd cannot hold"
    return None


def _run(changes: dict[str, str | None], lines: list[str], complaints: list[str], fine: str) -> Commands:
    if complaints:
        yield from refuse("; ".join(complaints))
        return
    diffs.record(changes)
    if not lines:
        this_host().noop(fine)
    for start in range(0, len(lines), _CHUNK):
        yield StringCommand("\n".join(["set -e", *lines[start : start + _CHUNK]]))
