"""Users and groups with the same numbers on all nodes: one fact, one command, and none is ever deleted."""

import shlex
from collections.abc import Mapping
from datetime import date

from gpupool import unix
from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.users import ENDS, RECORD, Accounts, AccountState
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work
from gpupool.wanted import User

#: The day from which shadow(5) counts.
DAY_0 = date(1970, 1, 1).toordinal()
_FOLDER = shlex.join(["mkdir", "-p", "-m", "0755", ENDS.rpartition("/")[0]])
_CHUNK = 200  # commands in one script: an argument has at most 128 KiB
#: Debian's useradd gives each user subordinate numbers, other ones on each node; `subordinate.numbers` gives the same.
_NO_RANGES = ("-K", "SUB_UID_COUNT=0", "-K", "SUB_GID_COUNT=0")


@operation
def groups(wanted: dict[str, int]) -> Commands:
    """Create missing groups (name -> gid). Fail if a group has another gid or the gid is in use."""
    if wrong := [name for name in wanted if not unix.GROUP.fullmatch(name)]:
        raise Refused(f"{wrong[0]!r} is not a valid group name")
    if not wanted:
        this_host().noop("no groups wanted")
        return
    state = look(Accounts, "the groups", users=[], groups=[*wanted, *map(str, wanted.values())])
    work = Work(Kind.USER)
    for name, gid in wanted.items():
        taken = next((other for other, group in state.groups.items() if group.gid == gid and other != name), None)
        if name in state.groups and state.groups[name].gid != gid:
            work.obstacles.append(
                f"group {name} has gid {state.groups[name].gid} here, wanted {gid}: files would change owner, "
                f"so change it by hand (groupmod -g {gid} {name}, then chgrp)"
            )
        elif name not in state.groups and taken:
            work.obstacles.append(
                f"group {name}: gid {gid} belongs to group {taken} here: use another gid, or for a renamed lab "
                f"keep the name {taken}, or let its jobs end and rename the group (groupmod -n {name} {taken}): "
                "Slurm cannot rename an account, so its usage stays with the old name"
            )
        elif name not in state.groups:
            work.do(f"group {name}", Aspect(f"gid {gid}"), "groupadd", "-g", str(gid), "--", name)
    yield from work.carry_out(f"{len(wanted)} groups: as wanted", "set -e", at_once=_CHUNK)


@operation
def users(wanted: list[User], managed_groups: list[str] | None = None) -> Commands:
    """Create users, without homes, and set primary group, other groups, home, shell, comment and end of access.

    A user is never deleted, and another uid is refused. Memberships are added; they are only removed from the groups
    in `managed_groups`. A user whom an admin has locked remains locked: an end is only moved to an earlier day, or to a
    later one if gpupool has set it.
    """
    managed = managed_groups or []
    if wrong := _wrong(wanted):
        raise Refused(wrong)
    if not wanted:
        this_host().noop("no users wanted")
        return
    asked = list(dict.fromkeys([name for user in wanted for name in (user.group, *user.groups)] + managed))
    keys = [key for user in wanted for key in (user.name, str(user.uid))]
    state = look(Accounts, "the users", users=keys, groups=asked)
    work = Work(Kind.USER)
    for user in wanted:
        _compare(user, state, managed, work)
    _compare_ends(wanted, state, work)
    _add_to_record(wanted, state, work)
    yield from work.carry_out(f"{len(wanted)} users: as wanted", "set -e", at_once=_CHUNK)


def _compare(user: User, state: AccountState, managed: list[str], work: Work) -> None:
    name = shlex.quote(user.name)
    now = state.users.get(user.name)
    taken = next((other for other, entry in state.users.items() if entry.uid == user.uid and other != user.name), None)
    member = {group for group in (*user.groups, *managed) if group in state.groups}
    member = {group for group in member if user.name in state.groups[group].members}
    if now is None and taken:
        work.obstacles.append(
            f"user {user.name}: uid {user.uid} belongs to user {taken} here: use another uid, or rename by hand "
            f"(usermod -l {user.name} {taken}; move the home; sacctmgr modify user where name={taken} set "
            f"newname={user.name})"
        )
    elif now is None:
        options = ["-u", str(user.uid), "-g", user.group, "-d", user.home, "-s", user.shell, "-c", user.comment]
        # -M: the storage has the homes; -l: no sparse lastlog of gigabytes for a large uid
        # useradd accepts an @ only with --badname
        odd = ["--badname"] if "@" in user.name else []
        command = ("useradd", *odd, *_NO_RANGES, "-M", "-N", "-l", *options, "--", user.name)
        work.do(f"user {user.name}", Aspect(f"uid {user.uid}, group {user.group}"), *command)
    elif now.uid != user.uid:
        work.obstacles.append(
            f"user {user.name} has uid {now.uid} here, wanted {user.uid}: files would change owner, so change it by "
            f"hand (usermod -u {user.uid} {user.name}, then chown)"
        )
    else:
        primary = next((group for group, entry in state.groups.items() if entry.gid == now.gid), str(now.gid))
        pairs = {
            "-g": ("group", primary, user.group),
            "-d": ("home", now.home, user.home),
            "-s": ("shell", now.shell, user.shell),
            "-c": ("comment", now.comment, user.comment),
        }
        different = {option: pair for option, pair in pairs.items() if pair[1] != pair[2]}
        if different:
            options = [word for option, (_, _, after) in different.items() for word in (option, after)]
            work.run("usermod", *options, "--", user.name)
            differs = (
                Aspect(wanted or "(none)", before or "(none)", name) for name, before, wanted in different.values()
            )
            work.differs(f"user {user.name}", *differs)
    for group in user.groups:
        if group not in state.groups and group in managed:
            # of a package that could not be installed, such as docker's, which would create it like this
            creates = f"getent group {shlex.quote(group)} >/dev/null || groupadd -r -- {shlex.quote(group)}"
            work.lines += [] if creates in work.lines else [creates]
        if group not in member and group != user.group:
            work.lines.append(f"gpasswd -a {name} {shlex.quote(group)} >/dev/null")
            work.differs(f"user {user.name} in group {group}")
    for group in sorted(member & set(managed) - {user.group, *user.groups}):
        work.lines.append(f"gpasswd -d {name} {shlex.quote(group)} >/dev/null")
        work.differs(f"user {user.name} in group {group}", Aspect(ABSENT, PRESENT))


def _compare_ends(wanted: list[User], state: AccountState, work: Work) -> None:
    """Set the days on which accounts expire (shadow(5)), and keep a record of the days that gpupool has set."""
    names = {user.name for user in wanted}
    kept = {name: day for name, day in state.set_ends.items() if name not in names}
    for user in wanted:
        now, ours = state.ends.get(user.name), state.set_ends.get(user.name)
        goal = date.fromisoformat(user.ends).toordinal() - DAY_0 if user.ends else None
        access = f"access of user {user.name}"
        if goal is None:
            if now is not None and now == ours:
                work.do(
                    access, Aspect("no end", "an end", note="no end any more"), "usermod", "-e", "", "--", user.name
                )
        elif now is None or now > goal or (now == ours and now != goal):
            until = f"until the day before {user.ends}"
            differs = Aspect(until, "no end" if now is None else "another end", note=until)
            work.do(access, differs, "usermod", "-e", user.ends, "--", user.name)
            kept[user.name] = goal
        elif now == ours:
            kept[user.name] = goal
    if kept != state.set_ends:
        work.lines += set_ends(kept)
        work.differs("record of ends of access")


def set_ends(ends: Mapping[str, int]) -> list[str]:
    """Return the commands that replace the record of the ends of access that gpupool has set, in days since 1970."""
    text = "".join(f"{name}:{day}\n" for name, day in ends.items())
    return [_FOLDER, f"printf %s {shlex.quote(text)} > {ENDS}.new && mv {ENDS}.new {ENDS}"]


def _add_to_record(wanted: list[User], state: AccountState, work: Work) -> None:
    """Record users as managed, so that their access ends when they leave the inventory (`operations.departed`)."""
    new = [f"{user.name}:{user.uid}" for user in wanted if state.managed.get(user.name) != user.uid]
    if new and not work.changes:
        work.differs("record of users")
    work.lines += [_FOLDER] if new else []
    work.lines += [f"echo {shlex.quote(line)} >> {RECORD}" for line in new]


def _wrong(wanted: list[User]) -> str | None:
    for user in wanted:
        if not unix.USER.fullmatch(user.name):
            return f"{user.name!r} is not a valid user name"
        for value in (user.comment, user.home, user.shell):
            if unix.breaks_passwd(value):
                return f"user {user.name}: {value!r} contains a character that passwd cannot hold"
    return None
