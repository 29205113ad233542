"""Check and normalize the wanted entities of slurmdbd, so that they can be compared."""

from collections.abc import Mapping
from typing import Any

from gpupool.slurm.associations import NAME, associations, named
from gpupool.slurm.keys.limits import ASSOC_FIELDS, QOS_FIELDS, Value, parse

_ALIASES = {"qos": "QOS", "default_qos": "DefaultQOS"}


def normal(wanted: Mapping[str, Any], limits: bool = True, exact: bool = True) -> dict[str, Any]:
    """Return `wanted` with every value normalized; ValueError if Slurm does not accept it.

    `exact`: a missing field has Slurm's default, and a missing entity will be removed; without it, neither is
    changed. An account with `exact: False`, its users and the accounts below it are treated as without `exact`.
    `limits` False: only the names of QoS and accounts, to be added.
    """
    exact = exact and limits and wanted.get("exact", True)
    open_ = {name for name, given in wanted.get("accounts", {}).items() if not given.get("exact", True)}
    _check_names(wanted, exact)
    clean: dict[str, Any] = {
        "cluster": wanted["cluster"],
        "exact": exact,
        "also_managed_elsewhere": sorted(open_),
        "names_only": not limits,
        "root": _fields("cluster", wanted["root"], ASSOC_FIELDS, exact) if wanted.get("root") and limits else {},
        "qos": {},
        "accounts": {},
        "users": {},
    }
    for name, given in wanted.get("qos", {}).items():
        clean["qos"][name] = _fields(f"QoS {name}", given, QOS_FIELDS, exact)
    for name, given in wanted.get("accounts", {}).items():
        rest = {key: value for key, value in given.items() if key not in ("parent", "coordinators", "exact")}
        fields = _fields(f"account {name}", rest, ASSOC_FIELDS, exact and name not in open_)
        clean["accounts"][name] = {"parent": given.get("parent", "root"), **fields}
        if given.get("coordinators") is not None:
            clean["accounts"][name]["coordinators"] = sorted(set(given["coordinators"]))
    for name, given in wanted.get("users", {}).items():
        clean["users"][name] = _user(name, given, open_, exact)
    if not limits:
        parents = {name: {"parent": given["parent"]} for name, given in clean["accounts"].items()}
        clean |= {"qos": {name: {} for name in clean["qos"]}, "accounts": parents, "users": {}}
    return clean


def tres_of(clean: Mapping[str, Any]) -> set[str]:
    """Return the TRES that slurmdbd must have before these limits can be set."""
    owners = [*clean["qos"].values(), *clean["accounts"].values(), clean["root"]]
    owners += [values for user in clean["users"].values() for _, _, values in associations(user)]
    return {tres for values in owners for value in values.values() if isinstance(value, dict) for tres in value}


def _user(name: str, given: Mapping[str, Any], open_: set[str], exact: bool) -> dict[str, Any]:
    inside: dict[str, Any] = {"accounts": {}, "partitions": {}}
    for account, partition, values in associations(given):
        fields = _fields(named(name, account, partition), values, ASSOC_FIELDS, exact and account not in open_)
        if partition:
            inside["partitions"].setdefault(account, {})[partition] = fields
        else:
            inside["accounts"][account] = fields
    accounts = list(dict.fromkeys(account for account, _, _ in associations(inside)))
    default = given.get("default_account") or next(iter(accounts), None)
    if default not in accounts:
        raise ValueError(f"user {name}: the default account {default} is not one of the user's accounts")
    level = {"AdminLevel": parse("AdminLevel", given["AdminLevel"])} if "AdminLevel" in given else {}
    return {"default_account": default, **inside, **level}


def _fields(of: str, given: Mapping[str, Any], known: tuple[str, ...], exact: bool) -> dict[str, Value]:
    names = {_ALIASES.get(name, name): value for name, value in given.items()}
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"{of}: {unknown[0]} cannot be set there")
    try:
        named = {name: parse(name, value) for name, value in names.items()}
    except ValueError as error:
        raise ValueError(f"{of}: {error}") from None
    return {**({name: parse(name, None) for name in known} if exact else {}), **named}


def _check_names(wanted: Mapping[str, Any], exact: bool) -> None:
    for kind in ("qos", "accounts", "users"):
        for name in wanted.get(kind, {}):
            if not NAME.fullmatch(name) or (name == "root" and kind != "qos"):
                raise ValueError(f"{kind}: {name!r} cannot be managed (names must be lower case, and not root)")
    if not NAME.fullmatch(wanted["cluster"]):
        raise ValueError(f"{wanted['cluster']!r}: a cluster name must be lower case")
    accounts, users = wanted.get("accounts", {}), wanted.get("users", {})
    for name, given in accounts.items():
        if exact and given.get("parent", "root") not in (*accounts, "root"):
            raise ValueError(f"account {name}: its parent {given['parent']} is not an account")
        if strangers := sorted(set(given.get("coordinators") or ()) - set(users)):
            raise ValueError(f"account {name}: its coordinator {strangers[0]} is not a user")
    if exact and (
        lost := sorted({a for user in users.values() for a, _, _ in associations(user)} - {*accounts, "root"})
    ):
        raise ValueError(f"account {lost[0]}: it has users but is not an account")
