"""Remove entities that are in slurmdbd but not wanted: which, in which order, and which cannot be removed yet.

Never removed: root, the QoS `normal` that slurmdbd creates, and entities of another cluster. Every command names this
cluster, except for accounts that no other cluster has. A QoS belongs to all clusters, and slurmdbd does not know the
partitions of another cluster that use it: so with a second cluster, no QoS is removed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpupool.operations.accounting.leaving import REMOVED, leaving
from gpupool.operations.accounting.steps import Step, joined, step
from gpupool.slurm.associations import associations, named

_SILENT = "slurmctld does not answer, so it is unknown which of them have jobs"


@dataclass(frozen=True)
class Strays:
    """Entities of slurmdbd that are not wanted, each with the reason why it cannot be removed yet; None if it can."""

    members: dict[tuple[str, str, str], str | None]  # (user, account, partition) -> why it is kept
    accounts: dict[str, str | None]
    qos: dict[str, str | None]


def removals(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Step]:
    """Return the commands that remove unwanted entities: users before accounts, children before parents, QoS last."""
    stays = strays(now, wanted)
    cluster = f"cluster={wanted['cluster']}"
    depths: dict[int, list[Step]] = {}
    for account, depth in _children_first(now["accounts"]):
        if stays.accounts.get(account, "") is None:
            here = (cluster,) if account in now["elsewhere"] else ()
            command = ["delete", "account", "where", "name={}", *here]
            depths.setdefault(depth, []).append(step(command, account, (), f"account {account}", REMOVED))
    qos = [
        step(("delete", "qos", "where", "name={}"), name, (), f"QoS {name}", REMOVED)
        for name, why in stays.qos.items()
        if why is None
    ]
    of_users = leaving(now, wanted, [key for key, why in stays.members.items() if why is None])
    return [*of_users, *(done for steps in (*depths.values(), qos) for done in joined(steps))]


def blocked(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the unwanted entities that cannot be removed yet, by name, with the reason."""
    stays = strays(now, wanted)
    members = {named(user, account, partition): why for (user, account, partition), why in stays.members.items()}
    accounts = {f"account {name}": why for name, why in stays.accounts.items()}
    qos = {f"QoS {name}": why for name, why in stays.qos.items()}
    return {what: why for what, why in {**members, **accounts, **qos}.items() if why is not None}


def stray_qos(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> set[str]:
    """Return the QoS that are neither wanted nor used."""
    if not wanted["exact"] or set(now["cluster"]) - {wanted["cluster"]}:
        return set()
    used = {qos for values in _values_of_others(now, wanted) for qos in (values["DefaultQOS"], *values["QOS"])}
    return set(now["qos"]) - set(wanted["qos"]) - {"normal"} - used


def kept_for_others(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Return the entities that are not in the inventory but kept for another system."""
    accounts = set(now["accounts"]) - {"root"} if not wanted["exact"] else accounts_of_others(now, wanted)
    if wanted["names_only"]:
        return []
    mine = {(user, *each[:2]) for user, given in wanted["users"].items() for each in associations(given)}
    return [
        *(f"account {name}" for name in sorted(accounts - set(wanted["accounts"]))),
        *(
            named(user, account, partition)
            for user, current in now["users"].items()
            for account, partition, _ in associations(current)
            if account in accounts and user != "root" and (user, account, partition) not in mine
        ),
        *(f"QoS {name}" for name in sorted(set(now["qos"]) - {*wanted["qos"], "normal"}) if not wanted["exact"]),
    ]


def accounts_of_others(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> set[str]:
    """Return the accounts that another system manages, too, and unwanted accounts below them."""
    names = set(wanted["also_managed_elsewhere"])
    for name, _ in reversed(_children_first(now["accounts"])):
        if now["accounts"][name]["parent"] in names and name not in wanted["accounts"]:
            names.add(name)
    return names


def _values_of_others(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    accounts = accounts_of_others(now, wanted)
    yield from (values for name, values in now["accounts"].items() if name in accounts)
    for current in now["users"].values():
        yield from (values for name, _, values in associations(current) if name in accounts)


def strays(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> Strays:
    """Return the entities that are not wanted."""
    if not wanted["exact"]:
        return Strays({}, {}, {})
    spared = accounts_of_others(now, wanted)
    members = _members(now, wanted, spared)
    accounts: dict[str, str | None] = {}
    for name, _ in _children_first(now["accounts"]):
        if name != "root" and name not in wanted["accounts"] and name not in spared:
            accounts[name] = _account_stays(name, now, members, accounts)
    qos = {name: _qos_stays(name, now, members, accounts) for name in sorted(stray_qos(now, wanted))}
    return Strays(members, accounts, qos)


def _members(
    now: Mapping[str, Any], wanted: Mapping[str, Any], spared: set[str]
) -> dict[tuple[str, str, str], str | None]:
    busy = None if now["jobs"] is None else {(account, user) for account, user, _ in now["jobs"]}
    members: dict[tuple[str, str, str], str | None] = {}
    for user, current in now["users"].items():
        if user == "root":
            continue
        mine = {each[:2] for each in associations(wanted["users"].get(user, {"accounts": {}}))}
        for account, partition, _ in associations(current):
            if (account, partition) in mine or account in spared:
                continue
            jobs = None if busy is None else (account, user) in busy
            why = _SILENT if jobs is None else "it has running or pending jobs" if jobs else None
            members[user, account, partition] = why
        if mine:
            continue
        default = current["default_account"]
        others = [why for (name, account, _), why in members.items() if name == user and account != default]
        for key in [key for key, why in members.items() if key[:2] == (user, default) and why is None]:
            if any(others):
                members[key] = "it is the default account of a user who has jobs"
            elif any(account in spared for account, _, _ in associations(current)):
                members[key] = "it is the default account of a user whom another system manages"
    return members


def _account_stays(
    name: str,
    now: Mapping[str, Any],
    members: Mapping[tuple[str, str, str], str | None],
    below: Mapping[str, str | None],
) -> str | None:
    if now["jobs"] is None:
        return _SILENT
    if any(account == name for account, _, _ in now["jobs"]):
        return "it has running or pending jobs"
    if any(why for (_, account, _), why in members.items() if account == name):
        return "a user in it cannot be removed yet"
    if name in now["users"].get("root", {"accounts": {}})["accounts"]:
        return "root is a user in it"
    if any(why for child, why in below.items() if now["accounts"][child]["parent"] == name):
        return "an account below it cannot be removed yet"
    return None


def _qos_stays(
    name: str,
    now: Mapping[str, Any],
    members: Mapping[tuple[str, str, str], str | None],
    accounts: Mapping[str, str | None],
) -> str | None:
    if now["jobs"] is None:
        return _SILENT
    if any(qos == name for _, _, qos in now["jobs"]):
        return "running or pending jobs use it"
    if name in now["partitions"]:
        return "a partition of the running slurmctld uses it"
    for association, values in _staying(now, members, accounts):
        if name == values["DefaultQOS"] or name in values["QOS"]:
            return f"{association} cannot be removed yet and uses it"
    return None


def _staying(
    now: Mapping[str, Any],
    members: Mapping[tuple[str, str, str], str | None],
    accounts: Mapping[str, str | None],
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the associations that this run does not change: root's, and unwanted ones that cannot be removed yet."""
    yield from ((f"account {name}", now["accounts"][name]) for name, why in accounts.items() if why)
    yield from (
        (named(user, account, partition), values)
        for user, current in now["users"].items()
        for account, partition, values in associations(current)
        if members.get((user, account, partition))
    )
    if "root" in now["accounts"]:
        yield "account root", now["accounts"]["root"]
    for account, values in now["users"].get("root", {"accounts": {}})["accounts"].items():
        yield f"user root in account {account}", values


def _children_first(accounts: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Return each account with its depth in the tree, the deepest first."""

    def depth(name: str) -> int:
        parent = accounts[name]["parent"]
        return 1 + depth(parent) if parent in accounts else 0

    return sorted(((name, depth(name)) for name in accounts), key=lambda pair: (-pair[1], pair[0]))
