"""Compute the commands that change slurmdbd from its current to its wanted entities; both are normalized."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpupool.change import Aspect
from gpupool.operations.accounting.coordinators import coordinators
from gpupool.operations.accounting.removal import removals
from gpupool.operations.accounting.steps import Step, joined, step
from gpupool.slurm.keys.limits import SET_AS, Value, parse, write

# Preempt may name a QoS that is added later
_LATER = ("Preempt",)
# the names of fields of an association in the input of `sacctmgr load`
_LOAD = {
    "Fairshare": "Fairshare", "GrpTRES": "GrpTRES", "GrpTRESMins": "GrpTRESMins", "GrpTRESRunMins": "GrpTRESRunMins",
    "GrpJobs": "GrpJobs", "GrpSubmit": "GrpSubmitJobs", "MaxJobs": "MaxJobs", "MaxSubmit": "MaxSubmitJobs",
    "MaxTRES": "MaxTRESPerJob", "MaxTRESPerNode": "MaxTRESPerNode", "MaxTRESMins": "MaxTRESMinsPerJob",
    "QOS": "QOS", "DefaultQOS": "DefaultQOS",
}  # fmt: skip

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
        settings, differs = _settings(values if current is not None else _without(values, _LATER), current)
        if current is None:
            new.append(step(("add", "qos", "{}"), qos, settings, f"QoS {qos}", *(differs or [_ADDED])))
            settings, differs = _settings({name: values[name] for name in _LATER if name in values}, None)
        if settings:
            later.append(step(("modify", "qos", "where", "name={}", "set"), qos, settings, f"QoS {qos}", *differs))
    return [*joined(new), *joined(later)]


def _accounts(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    cluster = f"cluster={wanted['cluster']}"
    steps: list[Step] = []
    for account in _parents_first(wanted["accounts"]):
        values = _without(wanted["accounts"][account], ("parent", "coordinators"))
        parent = wanted["accounts"][account]["parent"]
        current = now["accounts"].get(account)
        settings, differs = _settings(values, current)
        if current is None:
            add = ("add", "account", "{}", cluster, f"parent={parent}")
            below = Aspect(note=f"added below {parent}")
            steps.append(step(add, account, settings, f"account {account}", below, *differs))
            continue
        if current["parent"] != parent and not wanted["names_only"]:
            settings = [f"parent={parent}", *settings]
            differs = [Aspect(parent, current["parent"], "parent"), *differs]
        if settings:
            modify = ("modify", "account", "where", "name={}", cluster, "set")
            steps.append(step(modify, account, settings, f"account {account}", *differs))
    return joined(steps)


def _users(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    cluster = f"cluster={wanted['cluster']}"
    added: dict[str, list[tuple[str, tuple[str, tuple[Aspect, ...]]]]] = {}
    modified: list[Step] = []
    last: list[Step] = []
    for user, given in wanted["users"].items():
        current = now["users"].get(user, {"accounts": {}, "default_account": None})
        known = current["accounts"]
        modify = ("modify", "user", "where", "name={}", cluster)
        for account, values in given["accounts"].items():
            before = known.get(account)
            goal = values
            association = f"user {user} in account {account}"
            if before is None:
                loaded = {name: value for name, value in goal.items() if name in _LOAD}
                _, differs = _settings(loaded, None)
                options = [] if known else [f"DefaultAccount='{given['default_account']}'"]
                options += [f"{_LOAD[name]}='{text}'" for name, text in _pairs(loaded, None)]
                line = ":".join([f"User - '{user}'", *options])
                added.setdefault(account, []).append((line, (association, tuple(differs or [_ADDED]))))
                goal = _without(goal, tuple(_LOAD))
            settings, differs = _settings(goal, before)
            if settings:
                modified.append(step((*modify, f"account={account}", "set"), user, settings, association, *differs))
        default = given["default_account"]
        if known and current["default_account"] != default:
            default_differs = Aspect(default, current["default_account"] or "none", "default account")
            last.append(step((*modify, "set"), user, [f"DefaultAccount={default}"], f"user {user}", default_differs))
        level = given.get("AdminLevel")
        if level is not None and level != current.get("AdminLevel", "None"):
            last.append(step((*modify, "set"), user, [f"AdminLevel={level}"], f"user {user} as {level}"))
    return [*_load(wanted["cluster"], added), *joined(modified), *joined(last)]


def _load(cluster: str, added: Mapping[str, list[tuple[str, tuple[str, tuple[Aspect, ...]]]]]) -> Iterator[Step]:
    """Add all associations of users in one command, which is one commit of slurmdbd."""
    if not added:
        return
    lines = [f"Cluster - '{cluster}'"]
    for account, members in added.items():
        lines += [f"Parent - '{account}'", *(line for line, _ in members)]
    changes = tuple(change for members in added.values() for _, change in members)
    yield Step(("load", "/dev/stdin"), (), (), changes, "\n".join(lines))


def _settings(wanted: Mapping[str, Value], now: Mapping[str, Value] | None) -> tuple[list[str], list[Aspect]]:
    settings = [f"{SET_AS.get(name, name)}={text}" for name, text in _pairs(wanted, now)]
    differs = []
    for name, value in wanted.items():
        before = now.get(name) if now is not None else parse(name, None)
        if before != value:
            differs.append(Aspect(_shown(name, value), _shown(name, before), name))
    return settings, differs


def _pairs(wanted: Mapping[str, Value], now: Mapping[str, Value] | None) -> Iterator[tuple[str, str]]:
    for name, value in wanted.items():
        before = now.get(name) if now is not None else parse(name, None)
        if before != value:
            yield name, write(name, value, before)


def _shown(name: str, value: Value) -> str:
    return "none" if value is None or value in ([], {}) else write(name, value)


def _parents_first(accounts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    order: list[str] = []

    def visit(name: str, below: tuple[str, ...]) -> None:
        if name in accounts and name not in order and name not in below:
            visit(accounts[name]["parent"], (*below, name))
            order.append(name)

    for name in accounts:
        visit(name, ())
    return order


def _without(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
