"""The entities that slurmdbd has for one cluster, in the same structure as the wanted ones.

    {"cluster": [names of all clusters], "qos": {name: {field: value}},
     "accounts": {name: {"parent": name, "coordinators": [users, also of its parents], field: value}},
     "users": {name: {"default_account": account, "accounts": {account: {field: value}}, "AdminLevel": word,
                      "partitions": {account: {partition: {field: value}}}}},
     "elsewhere": [accounts that another cluster has, too], "partitions": [QoS of slurmctld's partitions],
     "jobs": [[account, user, QoS] of running and pending jobs], or None if slurmctld does not answer,
     "queue": [[account, user, QoS, number of pending jobs, number of others]]}

The account root has the limits of the whole cluster. The fields are those of `gpupool.slurm.keys.limits`, values as its
`parse` returns them. Works on Slurm 22.05 and later. `ask_text` and `read` do the same without pyinfra.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pyinfra.api.command import StringCommand

from gpupool.facts.association_rows import BadName, associations
from gpupool.facts.base import Fact
from gpupool.facts.script import ask, complete_lines
from gpupool.shell import shell_file
from gpupool.shown import Shown
from gpupool.slurm.keys.limits import ASSOC_FIELDS, QOS_FIELDS, parse

_QOS = ",".join(("Name", *QOS_FIELDS))
_ASSOC = ",".join(("Cluster", "Account", "User", "Partition", "ParentName", *ASSOC_FIELDS))
_ASSOCIATION = ("A", "E", "M")
# Kinds of rows with names that a coordinator may have given: a row that such a name breaks is left out.
_NAMED = ("U", "K", "J", "W", "O")
_LOOK = shell_file(__package__, "accounting.sh")


@dataclass(frozen=True)
class AccountingState(Shown):
    """`entities`: see the module; `tres`: the TRES that slurmdbd has; `trouble`: why there is no answer.

    `bad_names`: accounts and users that `entities` leaves out; `forged`: entities with two rows, one of them forged.
    """

    entities: dict[str, Any]
    tres: list[str] = field(default_factory=list)
    trouble: str | None = None
    bad_names: tuple[BadName, ...] = ()
    forged: tuple[str, ...] = ()


class Accounting(Fact[AccountingState]):
    """The entities of a cluster; `patience`: seconds to wait for a starting slurmdbd and for the TRES `awaited`."""

    def command(self, cluster: str, patience: int = 0, awaited: tuple[str, ...] = ()) -> StringCommand:
        """Ask for all entities in one command."""
        return _ask(cluster, patience, awaited)

    def read(self, lines: list[str]) -> AccountingState:
        """Read the answer."""
        return _state(lines)


def ask_text(cluster: str, patience: int = 0, awaited: tuple[str, ...] = ()) -> str:
    """Return the shell text that asks for all entities; `read` parses its output."""
    return str(_ask(cluster, patience, awaited).get_raw_value())


def read(output: str | Iterable[str]) -> AccountingState | None:
    """Return the state from the output of `ask_text`; None if the output is incomplete."""
    lines = complete_lines(output.removesuffix("\n").split("\n") if isinstance(output, str) else list(output))
    return None if lines is None else _state(lines)


def _state(lines: list[str]) -> AccountingState:
    return together([line.split("|") for line in lines])


def together(rows: list[list[str]]) -> AccountingState:
    """Return the state from the rows of sacctmgr; the first column is the kind of the row."""
    entities = empty()
    tres: list[str] = []
    coordinators: dict[str, list[str]] = {}
    found = associations([(kind, "|".join(row)) for kind, *row in rows if kind in _ASSOCIATION])
    if found.strange:
        return AccountingState(empty(), trouble=f"sacctmgr: {found.strange[0]}")
    for row in found.rows:
        _association(entities, row)
    for kind, *row in rows:
        if kind == "X":
            return AccountingState(empty(), trouble="|".join(row) or "sacctmgr is not installed")
        if kind == "C":
            entities["cluster"] += row
        elif kind == "T":
            tres.append("/".join(part for part in row if part))
        elif kind == "Q" and len(row) == 1 + len(QOS_FIELDS):
            entities["qos"][row[0]] = _fields(QOS_FIELDS, row[1:])
        elif kind in _ASSOCIATION:
            continue
        elif kind == "U" and len(row) == 3:
            user = entities["users"].setdefault(row[0], new_user())
            user["default_account"] = row[1] or None
            user["AdminLevel"] = parse("AdminLevel", row[2])
        elif kind == "K" and len(row) == 2:
            # Slurm 22.05 lists a coordinator twice
            coordinators[row[0]] = sorted({name for name in row[1].split(",") if name})
        elif kind == "R":
            entities["jobs"] = []
        elif kind == "J" and len(row) == 3:
            entities["jobs"].append(row)
        elif kind == "W" and len(row) == 5:
            entities["queue"].append([*row[:3], int(row[3]), int(row[4])])
        elif kind in ("O", "P") and len(row) == 1:
            entities["elsewhere" if kind == "O" else "partitions"].append(row[0])
        elif kind not in _NAMED:
            return AccountingState(empty(), trouble=f"sacctmgr: {'|'.join(row)}")
    for name, account in entities["accounts"].items():
        account["coordinators"] = coordinators.get(name, [])
    return AccountingState(entities, sorted(tres), bad_names=found.bad, forged=found.forged)


def empty() -> dict[str, Any]:
    """Return the entities of an empty slurmdbd."""
    return {
        "cluster": [],
        "qos": {},
        "accounts": {},
        "users": {},
        "elsewhere": [],
        "partitions": [],
        "jobs": None,
        "queue": [],
    }


def _association(entities: dict[str, Any], row: list[str]) -> None:
    account, user, partition, parent = row[1:5]
    if not user:
        entities["accounts"][account] = {"parent": parent, **_fields(ASSOC_FIELDS, row[5:])}
    elif partition:
        inside = entities["users"].setdefault(user, new_user())["partitions"].setdefault(account, {})
        inside[partition] = _fields(ASSOC_FIELDS, row[5:])
    else:
        entities["users"].setdefault(user, new_user())["accounts"][account] = _fields(ASSOC_FIELDS, row[5:])


def new_user() -> dict[str, Any]:
    """Return a user without associations, in the form of the fact."""
    return {"default_account": None, "accounts": {}, "AdminLevel": "None", "partitions": {}}


def _fields(names: tuple[str, ...], row: list[str]) -> dict[str, Any]:
    return {name: parse(name, text) for name, text in zip(names, row, strict=True)}


def _ask(cluster: str, patience: int, awaited: tuple[str, ...]) -> StringCommand:
    return ask(_LOOK, cluster, str(patience), " ".join(awaited), _QOS, _ASSOC, limit=90 + 2 * patience)
