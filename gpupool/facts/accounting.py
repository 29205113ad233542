"""What slurmdbd holds for one cluster, in the same shape in which it is wanted.

    {"cluster": name or None, "qos": {name: {field: value}},
     "accounts": {name: {"parent": name, field: value}},
     "users": {name: {"default_account": account, "accounts": {account: {field: value}}}}}

The fields are those of ``gpupool.facts.limits``, values as its ``parse`` returns them. Works on Slurm 22.05 and later.
"""

from dataclasses import dataclass, field
from typing import Any

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import FactBase

from gpupool.facts.limits import ASSOC_FIELDS, QOS_FIELDS, parse
from gpupool.facts.script import ask, whole

_QOS = ",".join(("Name", *QOS_FIELDS))
_ASSOC = ",".join(("Account", "User", "Partition", "ParentName", *ASSOC_FIELDS))
# WOPLimits: what an association has itself, without what it inherits
_LOOK = f"""
cluster=$1 patience=$2 awaited=$3
ask() {{ kind=$1; shift; sacctmgr -nP show "$@" 2>&1 | sed "s/^/$kind|/"; }}
until said=$(sacctmgr -nP show cluster format=Cluster 2>&1); do
  patience=$((patience-1)); [ "$patience" -gt 0 ] || break; sleep 1
done
# slurmctld tells slurmdbd of its TRES some moments after it has started
known() {{ tres=$(sacctmgr -nP show tres format=Type,Name 2>/dev/null | tr '|' / | sed 's:/$::')
  for it in $awaited; do printf '%s\n' "$tres" | grep -qxF -- "$it" || return 1; done; }}
until known; do patience=$((patience-1)); [ "$patience" -gt 0 ] || break; sleep 1; done
if said=$(sacctmgr -nP show cluster format=Cluster 2>&1); then
  printf '%s\\n' "$said" | sed 's/^/C|/'
  ask T tres format=Type,Name
  ask Q qos format={_QOS}
  ask A assoc where cluster="$cluster" WOPLimits format={_ASSOC}
  ask U user where cluster="$cluster" format=User,DefaultAccount,AdminLevel
else printf 'X|%s\\n' "$(printf '%s' "$said" | tail -n 1)"; fi
"""


@dataclass(frozen=True)
class AccountingState:
    """``entities``: see the module; ``tres``: the TRES slurmdbd knows; ``trouble``: why no answer came."""

    entities: dict[str, Any]
    tres: list[str] = field(default_factory=list)
    trouble: str | None = None


class Accounting(FactBase[AccountingState | None]):
    """Everything in one command; ``patience``: seconds to wait for a slurmdbd that is just starting, and for it to
    know the TRES ``awaited``.

    None when the node's answer was cut short.
    """

    def command(self, cluster: str, patience: int = 0, awaited: tuple[str, ...] = ()) -> StringCommand:
        """Ask for all entities at once."""
        return ask(_LOOK, cluster, str(patience), " ".join(awaited), limit=60 + 2 * patience)

    def process(self, output: list[str]) -> AccountingState | None:
        """Read the answer."""
        lines = whole(output)
        return None if lines is None else read([line.split("|") for line in lines])


def read(rows: list[list[str]]) -> AccountingState:
    """Put the rows of sacctmgr together; the first column says what a row is about."""
    qos: dict[str, Any] = {}
    accounts: dict[str, Any] = {}
    users: dict[str, Any] = {}
    clusters: list[str] = []
    tres: list[str] = []
    for kind, *row in rows:
        if kind == "X":
            return AccountingState(empty(), trouble="|".join(row) or "sacctmgr is not installed")
        if kind == "C":
            clusters += row
        elif kind == "T":
            tres.append("/".join(part for part in row if part))
        elif kind == "Q" and len(row) == 1 + len(QOS_FIELDS):
            qos[row[0]] = _fields(QOS_FIELDS, row[1:])
        elif kind == "A" and len(row) == 4 + len(ASSOC_FIELDS):
            account, user, partition, parent = row[:4]
            values = _fields(ASSOC_FIELDS, row[4:])
            if not user:
                accounts[account] = {"parent": parent, **values}
            elif not partition:
                users.setdefault(user, {"default_account": None, "accounts": {}})["accounts"][account] = values
        elif kind == "U" and len(row) == 3:
            users.setdefault(row[0], {"accounts": {}})["default_account"] = row[1] or None
            users[row[0]]["AdminLevel"] = parse("AdminLevel", row[2])
        else:
            return AccountingState(empty(), trouble=f"sacctmgr said: {'|'.join(row)}")
    entities = {"cluster": clusters, "qos": qos, "accounts": accounts, "users": users}
    return AccountingState(entities, sorted(tres))


def empty() -> dict[str, Any]:
    """Return the entities of a slurmdbd that holds nothing."""
    return {"cluster": [], "qos": {}, "accounts": {}, "users": {}}


def _fields(names: tuple[str, ...], row: list[str]) -> dict[str, Any]:
    return {name: parse(name, text) for name, text in zip(names, row, strict=True)}
