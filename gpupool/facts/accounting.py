"""What slurmdbd holds for one cluster, in the same shape in which it is wanted.

    {"cluster": [names of all clusters], "qos": {name: {field: value}},
     "accounts": {name: {"parent": name, "coordinators": [users, those of the parents too], field: value}},
     "users": {name: {"default_account": account, "accounts": {account: {field: value}}, "AdminLevel": word,
                      "partitions": [[account, partition]]}},
     "elsewhere": [accounts that another cluster has too], "partitions": [QoS that a running partition names],
     "jobs": [[account, user, QoS] of running and pending jobs], or None where slurmctld does not answer}

The fields are those of `gpupool.slurm.keys.limits`, values as its `parse` returns them. Works on Slurm 22.05 and later.
`ask_text` and `read` do without pyinfra what the fact does.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask, whole
from gpupool.shell import shell_file
from gpupool.slurm.keys.limits import ASSOC_FIELDS, QOS_FIELDS, parse

_QOS = ",".join(("Name", *QOS_FIELDS))
_ASSOC = ",".join(("Cluster", "Account", "User", "Partition", "ParentName", *ASSOC_FIELDS))
_LOOK = shell_file(__package__, "accounting.sh")


@dataclass(frozen=True)
class AccountingState:
    """`entities`: see the module; `tres`: the TRES slurmdbd knows; `trouble`: why no answer came."""

    entities: dict[str, Any]
    tres: list[str] = field(default_factory=list)
    trouble: str | None = None


class Accounting(Look[AccountingState]):
    """Everything in one command; `patience`: seconds to wait for a slurmdbd that is just starting, and for it to
    know the TRES `awaited`.
    """

    def command(self, cluster: str, patience: int = 0, awaited: tuple[str, ...] = ()) -> StringCommand:
        """Ask for all entities at once."""
        return _ask(cluster, patience, awaited)

    def read(self, lines: list[str]) -> AccountingState:
        """Read the answer."""
        return _state(lines)


def ask_text(cluster: str, patience: int = 0, awaited: tuple[str, ...] = ()) -> str:
    """Return the shell text that asks for everything; `read` takes what it prints."""
    return str(_ask(cluster, patience, awaited).get_raw_value())


def read(output: str | Iterable[str]) -> AccountingState | None:
    """Read what `ask_text` printed; None when the answer was cut short."""
    lines = whole(output.splitlines() if isinstance(output, str) else list(output))
    return None if lines is None else _state(lines)


def _state(lines: list[str]) -> AccountingState:
    return together([line.split("|") for line in lines])


def together(rows: list[list[str]]) -> AccountingState:
    """Put the rows of sacctmgr together; the first column says what a row is about."""
    entities = empty()
    tres: list[str] = []
    coordinators: dict[str, list[str]] = {}
    for kind, *row in rows:
        if kind == "X":
            return AccountingState(empty(), trouble="|".join(row) or "sacctmgr is not installed")
        if kind == "C":
            entities["cluster"] += row
        elif kind == "T":
            tres.append("/".join(part for part in row if part))
        elif kind == "Q" and len(row) == 1 + len(QOS_FIELDS):
            entities["qos"][row[0]] = _fields(QOS_FIELDS, row[1:])
        elif kind == "A" and len(row) == 5 + len(ASSOC_FIELDS):
            _association(entities, row)
        elif kind == "U" and len(row) == 3:
            user = entities["users"].setdefault(row[0], _user())
            user["default_account"] = row[1] or None
            user["AdminLevel"] = parse("AdminLevel", row[2])
        elif kind == "K" and len(row) == 2:
            # 22.05 names one twice
            coordinators[row[0]] = sorted({name for name in row[1].split(",") if name})
        elif kind == "R":
            entities["jobs"] = []
        elif kind == "J" and len(row) == 3:
            entities["jobs"].append(row)
        elif kind in ("O", "P") and len(row) == 1:
            entities["elsewhere" if kind == "O" else "partitions"].append(row[0])
        else:
            return AccountingState(empty(), trouble=f"sacctmgr said: {'|'.join(row)}")
    for name, account in entities["accounts"].items():
        account["coordinators"] = coordinators.get(name, [])
    return AccountingState(entities, sorted(tres))


def empty() -> dict[str, Any]:
    """Return the entities of a slurmdbd that holds nothing."""
    return {"cluster": [], "qos": {}, "accounts": {}, "users": {}, "elsewhere": [], "partitions": [], "jobs": None}


def _association(entities: dict[str, Any], row: list[str]) -> None:
    account, user, partition, parent = row[1:5]
    if not user:
        entities["accounts"][account] = {"parent": parent, **_fields(ASSOC_FIELDS, row[5:])}
    elif partition:
        entities["users"].setdefault(user, _user())["partitions"].append([account, partition])
    else:
        entities["users"].setdefault(user, _user())["accounts"][account] = _fields(ASSOC_FIELDS, row[5:])


def _user() -> dict[str, Any]:
    return {"default_account": None, "accounts": {}, "AdminLevel": "None", "partitions": []}


def _fields(names: tuple[str, ...], row: list[str]) -> dict[str, Any]:
    return {name: parse(name, text) for name, text in zip(names, row, strict=True)}


def _ask(cluster: str, patience: int, awaited: tuple[str, ...]) -> StringCommand:
    return ask(_LOOK, cluster, str(patience), " ".join(awaited), _QOS, _ASSOC, limit=90 + 2 * patience)
