"""Compute the commands that change slurmdbd from its current to its wanted entities; both are normalized."""

from collections.abc import Mapping
from typing import Any

from gpupool.change import Aspect
from gpupool.operations.accounting.coordinators import coordinators
from gpupool.operations.accounting.removal import removals
from gpupool.operations.accounting.settings import LOADED, Added, load, settings, user_line, without
from gpupool.operations.accounting.steps import Step, joined, step
from gpupool.slurm.associations import associations, named, where

# Preempt may name a QoS that is added later
_LATER = ("Preempt",)
_ADDED = Aspect(note="added")


def difference(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    """Return the commands that change `now` to `wanted`, in an order in which each of them can succeed.

    Entities that cannot be removed yet because of their jobs are left out: `blocked` (removal.py) returns them.
    """
    name = wanted["cluster"]
    first = [] if name in now["cluster"] else [step(("add", "cluster", "{}"), name, (), f"cluster {name}")]
    return [
        *first,
        *_qos(now, wanted),
        *_root(now, wanted),
        *_accounts(now, wanted),
        *_users(now, wanted),
        *coordinators(now, wanted),
        *removals(now, wanted),
    ]


def _qos(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    new: list[Step] = []
    later: list[Step] = []
    for qos, values in wanted["qos"].items():
        current = now["qos"].get(qos)
        words, differs = settings(values if current is not None else without(values, _LATER), current)
        if current is None:
            new.append(step(("add", "qos", "{}"), qos, words, f"QoS {qos}", *(differs or [_ADDED])))
            words, differs = settings({name: values[name] for name in _LATER if name in values}, None)
        if words:
            later.append(step(("modify", "qos", "where", "name={}", "set"), qos, words, f"QoS {qos}", *differs))
    return [*joined(new), *joined(later)]


def _accounts(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    cluster = f"cluster={wanted['cluster']}"
    steps: list[Step] = []
    for account in _parents_first(wanted["accounts"]):
        values = without(wanted["accounts"][account], ("parent", "coordinators"))
        parent = wanted["accounts"][account]["parent"]
        current = now["accounts"].get(account)
        words, differs = settings(values, current)
        if current is None:
            add = ("add", "account", "{}", cluster, f"parent={parent}")
            below = Aspect(note=f"added below {parent}")
            steps.append(step(add, account, words, f"account {account}", below, *differs))
            continue
        if current["parent"] != parent and not wanted["names_only"]:
            words = [f"parent={parent}", *words]
            differs = [Aspect(parent, current["parent"], "parent"), *differs]
        if words:
            modify = ("modify", "account", "where", "name={}", cluster, "set")
            steps.append(step(modify, account, words, f"account {account}", *differs))
    return joined(steps)


def _root(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    """Change the limits of the whole cluster, which are those of the account root."""
    name = wanted["cluster"]
    words, differs = settings(wanted.get("root", {}), now["accounts"].get("root"))
    modify = ("modify", "cluster", "where", "name={}", "set")
    return [step(modify, name, words, f"cluster {name}", *differs)] if words else []


def _users(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    cluster = f"cluster={wanted['cluster']}"
    added: Added = {}
    modified: list[Step] = []
    last: list[Step] = []
    for user, given in wanted["users"].items():
        current = now["users"].get(user, {"accounts": {}, "default_account": None})
        known = {(account, partition): fields for account, partition, fields in associations(current)}
        both = {"accounts": {}, "partitions": {**given.get("partitions", {}), **current.get("partitions", {})}}
        modify = ("modify", "user", "where", "name={}", cluster)
        for account, partition, values in associations(given):
            before = known.get((account, partition))
            goal = values
            item = named(user, account, partition)
            if before is None:
                line, differs = user_line(user, partition, None if known else given["default_account"], goal)
                added.setdefault(account, []).append((line, (item, tuple(differs or [_ADDED]))))
                goal = without(goal, tuple(LOADED))
            words, differs = settings(goal, before)
            if words:
                modified.append(step((*modify, *where(both, account, partition), "set"), user, words, item, *differs))
        default = given["default_account"]
        if known and current["default_account"] != default:
            default_differs = Aspect(default, current["default_account"] or "none", "default account")
            last.append(step((*modify, "set"), user, [f"DefaultAccount={default}"], f"user {user}", default_differs))
        level = given.get("AdminLevel")
        if level is not None and level != current.get("AdminLevel", "None"):
            last.append(step((*modify, "set"), user, [f"AdminLevel={level}"], f"user {user} as {level}"))
    return [*load(wanted["cluster"], added), *joined(modified), *joined(last)]


def _parents_first(accounts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    order: list[str] = []

    def visit(name: str, below: tuple[str, ...]) -> None:
        if name in accounts and name not in order and name not in below:
            visit(accounts[name]["parent"], (*below, name))
            order.append(name)

    for name in accounts:
        visit(name, ())
    return order
