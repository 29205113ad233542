"""Accounting entities in sacctmgr's notation, for people: as `sacctmgr dump` prints them, and the QoS."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpupool.slurm.associations import associations
from gpupool.slurm.dumps import Entry

# Names of an association's fields in sacctmgr's dump and load.
_ASSOCIATION = {
    "default_account": "DefaultAccount",
    "GrpSubmit": "GrpSubmitJobs",
    "default_qos": "DefaultQOS",
    "qos": "QOS",
    "MaxSubmit": "MaxSubmitJobs",
    "MaxTRES": "MaxTRESPerJob",
    "MaxWall": "MaxWallDurationPerJob",
}
# Fields of our operation, which sacctmgr does not have.
_OURS = ("parent", "coordinators", "exact")
_QOS = {"MaxSubmitPU": "MaxSubmitJobsPU", "MaxSubmitPA": "MaxSubmitJobsPA"}


def written(entities: Mapping[str, Any]) -> str:
    """Return the wanted content of slurmdbd, one entity per line, without unset limits."""
    return "".join(f"{line}\n" for line in (*_qos(entities["qos"]), *_tree(entities)))


def entry_line(entry: Entry) -> str:
    """Return the line of an entry of a dump, without the options that gpupool leaves alone."""
    if entry.kind == "qos":
        return _line("QOS", entry.name, {_QOS.get(key, key): value for key, value in entry.fields.items()})
    return _association(entry.kind.capitalize(), entry.name, entry.fields)


def _qos(qos: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, fields in qos.items():
        yield _line("QOS", name, {_QOS.get(key, key): value for key, value in fields.items()})


def _tree(entities: Mapping[str, Any]) -> Iterator[str]:
    accounts, users = entities["accounts"], entities["users"]
    yield _association("Cluster", entities["cluster"], entities.get("root", {}))
    inside: dict[str, list[str]] = {}
    for name, fields in accounts.items():
        inside.setdefault(fields["parent"], []).append(_association("Account", name, fields))
    leads: dict[str, list[str]] = {}
    for account, fields in accounts.items():
        # In accounts that another system manages, too, the fields without a value are missing.
        for user in fields.get("coordinators", ()):
            leads.setdefault(user, []).append(account)
    for name, fields in users.items():
        own = {"default_account": fields["default_account"], "Coordinator": leads.get(name, [])}
        own |= {"AdminLevel": fields["AdminLevel"]} if "AdminLevel" in fields else {}
        for account, partition, limits in associations(fields):
            place = {"Partition": partition or None}
            inside.setdefault(account, []).append(_association("User", name, {**place, **own, **limits}))
    for account in _parents_first(accounts):
        if account in inside:
            yield _line("Parent", account, {})
            yield from inside[account]


def _parents_first(accounts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    children: dict[str, list[str]] = {}
    for name, fields in accounts.items():
        children.setdefault(fields["parent"], []).append(name)
    order = ["root"]
    for account in order:
        order += children.get(account, [])
    return order


def _association(kind: str, name: str, fields: Mapping[str, Any]) -> str:
    return _line(kind, name, {_ASSOCIATION.get(key, key): value for key, value in fields.items() if key not in _OURS})


def _line(kind: str, name: str, fields: Mapping[str, Any]) -> str:
    options = (f"{key}={_text(value)}" for key, value in fields.items() if value is not None and value not in ({}, []))
    return ":".join([f"{kind} - '{name}'", *options])


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        value = ",".join(f"{key}={number}" for key, number in sorted(value.items()))
    elif isinstance(value, list):
        value = ",".join(value)
    # A colon outside of quotes ends the field.
    return str(value) if isinstance(value, int) else f"'{value}'"
