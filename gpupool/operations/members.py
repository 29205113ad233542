"""Compute the users of accounts from groups of a directory, from the answers of sssd and slurmdbd."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpupool import unix
from gpupool.facts.directory import MembersState
from gpupool.wanted import Roster


@dataclass(frozen=True)
class Person:
    """A user of the directory, and the accounts whose groups have this member."""

    name: str
    uid: int
    gid: int
    accounts: tuple[str, ...]


def people(state: MembersState, roster: Roster) -> tuple[list[Person], dict[str, str]]:
    """Return the members who can be users, sorted by name, and all others with the reason.

    Users who are listed in the inventory are in neither: the inventory decides about them.
    """
    accounts: dict[str, list[str]] = {}
    for account, group in roster.groups.items():
        for name in state.groups.get(group, ()):
            accounts.setdefault(name, []).append(account)
    fit: list[Person] = []
    unusable: dict[str, str] = {}
    for name in sorted(set(accounts) - roster.listed):
        if why := _unusable(name, state, roster):
            unusable[name] = why
        else:
            uid, gid = state.users[name]
            fit.append(Person(name, uid, gid, tuple(dict.fromkeys(accounts[name]))))
    return fit, unusable


def _unusable(name: str, state: MembersState, roster: Roster) -> str | None:
    if not unix.USER.fullmatch(name):
        return "not a valid user name"
    uid, _ = state.users.get(name, (-1, -1))
    if not roster.first <= uid <= roster.last:
        return f"the directory has no such user with a uid and a primary gid within {roster.first}-{roster.last}"
    if taken := [other for other, number in state.local.items() if other == name or number == uid]:
        return f"the node already has a user {taken[0]} with uid {state.local[taken[0]]}"
    return None


def with_members(
    wanted: Mapping[str, Any], roster: Roster, state: MembersState, now: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the wanted entities including the members, and the groups whose users are kept, with the reason.

    No user is removed if the answer is missing or empty, or would remove too many users.
    """
    members: dict[str, list[str]] = {account: [] for account in roster.groups}
    if state.away is None:
        for person in people(state, roster)[0]:
            for account in person.accounts:
                members[account].append(person.name)
    left: dict[str, str] = {}
    accounts: dict[str, list[str]] = {}
    for account, group in roster.groups.items():
        has = [name for name in _users_of(now, account) if name not in roster.listed]
        names = members[account]
        if why := _unsure(has, names, state, roster, group):
            left[f"users of {account}, from group {group}"] = f"{why}: {len(has)} stay as they are"
            names = [*names, *has]
        for name in names:
            accounts.setdefault(name, []).append(account)
    users = {name: _user(dict.fromkeys(its), roster) for name, its in sorted(accounts.items())}
    for name in users.keys() & wanted["users"].keys():  # of the site's accounting.cfg
        own = wanted["users"][name]
        users[name] |= {**own, "accounts": {**users[name]["accounts"], **own["accounts"]}}
    return {**wanted, "users": {**wanted["users"], **users}}, left


def _users_of(now: Mapping[str, Any], account: str) -> Iterator[str]:
    yield from (name for name, user in now["users"].items() if account in user["accounts"] and name != "root")


def _unsure(has: list[str], names: list[str], state: MembersState, roster: Roster, group: str) -> str | None:
    """Return why users who are missing in `names` may still be members; None if they are not."""
    gone = len(set(has) - set(names))
    if state.away is not None:
        return f"the directory does not answer ({state.away})"
    if group not in state.groups:
        return "the directory has no such group"
    if has and not names:
        return "the group has no members who can be users"
    if gone > roster.max_removals:
        return f"{gone} are no longer in the group, and max_removals in `directory` is {roster.max_removals}"
    return None


def _user(accounts: Mapping[str, None], roster: Roster) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for account in accounts:
        fields |= roster.users[account]["accounts"]
    return {"default_account": next(iter(accounts)), "accounts": fields}
