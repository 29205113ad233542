"""Remove associations of users.

slurmdbd removes no single association of a user's default account while the user has another, not even that of a
partition (24.11.5: "You can not remove the default account of a user"). So another account is the default meanwhile; a
user without another account loses all associations at once and gets the others back in the next command.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpupool.change import ABSENT, PRESENT, Aspect
from gpupool.operations.accounting.settings import LOADED, Added, load, settings, user_line, without
from gpupool.operations.accounting.steps import Step, joined, step
from gpupool.slurm.associations import associations, named, where

REMOVED = Aspect(ABSENT, PRESENT, note="removed: not in the inventory")


def leaving(now: Mapping[str, Any], wanted: Mapping[str, Any], gone: Iterable[tuple[str, str, str]]) -> list[Step]:
    """Return the commands that remove associations (user, account, partition) after all others are as wanted."""
    cluster = f"cluster={wanted['cluster']}"
    by_user: dict[str, list[tuple[str, str]]] = {}
    for user, account, partition in gone:
        by_user.setdefault(user, []).append((account, partition))
    others: list[Step] = []
    aside: list[Step] = []
    own: list[Step] = []
    back: list[Step] = []
    whole: list[Step] = []
    again: list[Step] = []
    added: Added = {}
    for user, strays in by_user.items():
        current, given = now["users"][user], wanted["users"].get(user)
        default = given["default_account"] if given else current["default_account"]
        kept = _kept(current, given, strays)
        other = next((account for account, _ in kept if account != default), None)
        apart = {"accounts": {}, "partitions": {account: True for account, partition in [*kept, *strays] if partition}}
        delete = ("delete", "user", "where", "name={}", cluster)
        modify = ("modify", "user", "where", "name={}", cluster)
        of_default = [each for each in strays if each[0] == default]
        for account, partition in strays:
            if account != default or other:
                command = (*delete, *where(apart, account, partition))
                removed = step(command, user, (), named(user, account, partition), REMOVED)
                (own if account == default else others).append(removed)
        if of_default and other:
            for steps, account in ((aside, other), (back, default)):
                steps.append(Step((*modify, "set"), (user,), (f"DefaultAccount={account}",), ()))
        elif of_default:
            changes = tuple((named(user, *each), (REMOVED,)) for each in of_default)
            whole.append(Step((*delete, f"account={default}"), (user,), (), changes))
            for (_, partition), fields in kept.items():
                line, _ = user_line(user, partition, default, fields)
                added.setdefault(default, []).append((line, ("", ())))
                if words := settings(without(fields, tuple(LOADED)), None)[0]:
                    place = where(apart, default, partition)
                    again.append(Step((*modify, *place, "set"), (user,), tuple(words), ()))
            if kept:
                again += _rights(now, wanted, user)
    return [
        *(done for steps in (others, aside, own, back, whole) for done in joined(steps)),
        *load(wanted["cluster"], added),
        *joined(again),
    ]


def _rights(now: Mapping[str, Any], wanted: Mapping[str, Any], user: str) -> Iterator[Step]:
    """Yield the commands that give a user who was removed and added again the rights on the database back."""
    level = wanted["users"].get(user, {}).get("AdminLevel", now["users"][user].get("AdminLevel", "None"))
    if level != "None":
        modify = ("modify", "user", "where", "name={}", f"cluster={wanted['cluster']}", "set")
        yield Step(modify, (user,), (f"AdminLevel={level}",), ())
    for name in dict.fromkeys((*now["accounts"], *wanted["accounts"])):
        shown = now["accounts"].get(name, {}).get("coordinators", ())
        goal = wanted["accounts"].get(name, {}).get("coordinators", shown)
        kept = name in wanted["also_managed_elsewhere"] or name in now["elsewhere"]
        if user in goal or (kept and user in shown):
            yield Step(("add", "coordinator", f"account={name}", "names={}"), (user,), (), ())


def _kept(
    current: Mapping[str, Any], given: Mapping[str, Any] | None, strays: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the associations that a user has after the removal, with their fields."""
    kept = {(account, partition): fields for account, partition, fields in associations(current)}
    for account, partition, fields in associations(given or {"accounts": {}}):
        kept[account, partition] = {**kept.get((account, partition), {}), **fields}
    return {key: fields for key, fields in kept.items() if key not in set(strays)}
