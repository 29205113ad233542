"""The way back of `gpupool adopt --back` for slurmdbd: its entities as they were before gpupool first changed them.

An entity that neither was there before nor is in the inventory stays: another system may have added it since.
"""

from collections.abc import Mapping
from typing import Any

from pyinfra.api.command import StringCommand

from gpupool.change import ABSENT, PRESENT, Aspect, Change, Kind
from gpupool.facts.accounting import Accounting
from gpupool.facts.former_accounting import FormerAccounting
from gpupool.operations import diffs
from gpupool.operations.accounting import PATIENCE
from gpupool.operations.accounting.difference import difference
from gpupool.operations.accounting.leaving import REMOVED
from gpupool.operations.accounting.removal import blocked
from gpupool.operations.accounting.steps import properties, script
from gpupool.operations.accounting.wanted import normal
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.refusal import failure
from gpupool.slurm.associations import associations

_LABEL = "the accounting from slurmdbd"
_GONE = Aspect(ABSENT, PRESENT, note="added by gpupool: will be removed")


@operation
def as_before(wanted: dict[str, Any]) -> Commands:
    """Give entities their former values, and remove those of `wanted`, the inventory's, that were not there before.

    Removed entities lose no record of their jobs: slurmdbd keeps these. An added entity with jobs stays; the operation
    makes all other changes, and fails.
    """
    kept = look(FormerAccounting, "the accounting before gpupool's first change")
    if not kept:
        this_host().noop("no former accounting")
        return
    state = look(Accounting, _LABEL, cluster=wanted["cluster"], patience=PATIENCE if executing() else 0)
    if state.trouble:
        raise Refused(f"cannot query slurmdbd: {state.trouble}")
    now = state.entities if executing() else {**state.entities, "partitions": []}  # files of before name no QoS of ours
    goal = _goal(now, kept[0].entities, normal(wanted))
    steps, stays = difference(now, goal), blocked(now, goal)
    later = {f"{item} cannot be removed yet": [Aspect(ABSENT, PRESENT, note=why)] for item, why in stays.items()}
    changes = properties(steps).items()
    differs = {item: [_GONE if each == REMOVED else each for each in aspects] for item, aspects in changes} | later
    diffs.record(Change(Kind.ACCOUNTING, item, tuple(each)) for item, each in differs.items())
    if not differs:
        this_host().noop(f"accounting of {wanted['cluster']}: as before")
    if steps:
        yield StringCommand("sh -s", _stdin=script(steps))
    if stays:
        named = "; ".join(f"{what} ({why})" for what, why in stays.items())
        yield failure(f"added by gpupool, and not removed: {named}. Run this again when it has no jobs")


def _goal(now: Mapping[str, Any], kept: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entities after the way back: those of before, and those of others that were added since."""
    root = kept["accounts"].get("root", {})
    return {
        "cluster": ours["cluster"],
        "exact": True,
        "also_managed_elsewhere": [],
        "names_only": False,
        "root": {name: value for name, value in root.items() if name not in ("parent", "coordinators")},
        "qos": {**_others(now["qos"], kept["qos"], ours["qos"]), **kept["qos"]},
        "accounts": _without_root({**_others(now["accounts"], kept["accounts"], ours["accounts"]), **kept["accounts"]}),
        "users": _without_root(_users(now["users"], kept["users"], ours["users"])),
    }


def _others(now: Mapping[str, Any], kept: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entity for name, entity in now.items() if name not in kept and name not in ours}


def _users(now: Mapping[str, Any], kept: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    users: dict[str, Any] = {}
    none: dict[str, Any] = {"accounts": {}}
    for name in dict.fromkeys((*kept, *now)):
        before, current = kept.get(name), now.get(name, none)
        known = {each[:2] for each in associations(before or none)}
        mine = {each[:2] for each in associations(ours.get(name, none))}
        added = [each for each in associations(current) if each[:2] not in known | mine]
        user: dict[str, Any] = {**(before or current), "accounts": {}, "partitions": {}}
        for account, partition, fields in (*associations(before or none), *added):
            if partition:
                user["partitions"].setdefault(account, {})[partition] = fields
            else:
                user["accounts"][account] = fields
        if known or added:
            users[name] = user
    return users


def _without_root(entities: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entity for name, entity in entities.items() if name != "root"}
