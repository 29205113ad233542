"""The site's file `slurm/accounting.cfg`: accounts, users and QoS in the notation of `sacctmgr dump`, beside the words.

Both go to slurmdbd together. Of an account, user or QoS that both name, the file adds values that the words do not set,
and may repeat the others. slurmdbd's own user root is left alone.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

from gpupool.cluster.accounting_file import FILE, entries
from gpupool.cluster.complaints import BadInventoryError, Complaint, Located, Place
from gpupool.cluster.model import Cluster
from gpupool.slurm.associations import NAME
from gpupool.slurm.dumps import Entry
from gpupool.slurm.keys.limits import Value, parse

CODE = "accounting-file-agrees"
# Fields that `compile.slurm.accounting` calls otherwise than sacctmgr.
_OURS = {"QOS": "qos", "DefaultQOS": "default_qos"}
_NO_LIMITS = ("DefaultAccount", "Partition", "AdminLevel", "Coordinator")


def with_file(cluster: Cluster, stated: dict[str, Any]) -> dict[str, Any]:
    """Return the entities of the words with those of the file; BadInventoryError if they do not agree."""
    both, wrong = _both(cluster, stated)
    if wrong:
        raise BadInventoryError(wrong)
    return both


def disagreements(cluster: Cluster, stated: dict[str, Any]) -> list[Located]:
    """Return what is wrong in the file, beside the entities of the words; the place is `slurm/accounting.cfg`."""
    return _both(cluster, stated)[1]


def _both(cluster: Cluster, stated: dict[str, Any]) -> tuple[dict[str, Any], list[Located]]:
    found = entries(cluster.attached)
    if not found:
        return stated, []
    parentless = {name for name, account in cluster.accounts.items() if account.parent == "root"}
    both = _Both(copy.deepcopy(stated), cluster.slurm.exact_accounting, parentless)
    for entry in found:
        both.add(entry)
    both.end()
    wrong = sorted(set(both.wrong))
    return both.wanted, [Located(Place(FILE, line), Complaint((), text, hint, code=CODE)) for line, text, hint in wrong]


@dataclass
class _Both:
    """The entities of words and file together, and what is wrong: line, message and hint.

    `parentless`: the accounts of the words that are below root, where accounts are without `parent`.
    """

    wanted: dict[str, Any]
    exact: bool
    parentless: set[str]
    wrong: list[tuple[int, str, str]] = field(default_factory=list)
    _lines: dict[tuple[str, str], int] = field(default_factory=dict)
    _seen: set[tuple[str, ...]] = field(default_factory=set)
    _uses: list[tuple[int, str, str]] = field(default_factory=list)
    _leads: dict[str, set[str]] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Add an entry of the file."""
        if entry.kind in ("account", "user") and entry.name == "root":
            return
        place = str(entry.fields.get("Partition", ""))
        key = (entry.kind, entry.name, *((entry.parent, place) if entry.kind == "user" else ()))
        if entry.kind != "cluster" and not NAME.fullmatch(entry.name):
            self._say(entry, f"{entry.name!r} is not in lower case, as slurmdbd has names", "write it so")
        elif key in self._seen or (entry.kind == "cluster" and "root" in self.wanted):
            self._say(entry, f"{entry.kind} {entry.name} has two lines", "keep one")
        else:
            self._seen.add(key)
            self._lines.setdefault((entry.kind, entry.name), entry.line)
            getattr(self, f"_add_{entry.kind}")(entry)

    def end(self) -> None:
        """Complete the users and coordinators, and check the names that entries use."""
        for name, user in self.wanted["users"].items():
            accounts = [*user["accounts"], *user.get("partitions", {})]
            default = user["default_account"] = user["default_account"] or accounts[0]
            if default not in accounts:
                hint = f"add it below Parent - '{default}', or write another DefaultAccount"
                self.wrong.append((self._lines["user", name], f"user {name} is not in the account {default}", hint))
        for name, leaders in self._leads.items():
            if name in self.wanted["accounts"]:
                self.wanted["accounts"][name]["coordinators"] = sorted(leaders)
        known = {"account": {*self.wanted["accounts"], "root"}, "QoS": {*self.wanted["qos"], "normal"}}
        for line, kind, name in self._uses if self.exact else ():
            if name not in known[kind]:
                self.wrong.append((line, f"there is no {kind} {name}", f"add it to {FILE} or to the inventory"))
        for kind, name in self._lines:
            if kind == "account" and self._is_below_itself(name):
                self.wrong.append(
                    (self._lines[kind, name], f"account {name} is below itself", "change its Parent line")
                )

    def _add_cluster(self, entry: Entry) -> None:
        if entry.name != self.wanted["cluster"]:
            hint = f"write Cluster - '{self.wanted['cluster']}'"
            self._say(entry, f"the cluster of this inventory is {self.wanted['cluster']}", hint)
        self.wanted["root"] = {}
        self._fill(entry, self.wanted["root"])

    def _add_qos(self, entry: Entry) -> None:
        self._fill(entry, self.wanted["qos"].setdefault(entry.name, {}))

    def _add_account(self, entry: Entry) -> None:
        account = self.wanted["accounts"].setdefault(entry.name, {"parent": entry.parent})
        if entry.name in self.parentless:
            account["parent"] = entry.parent
        elif account["parent"] != entry.parent:
            self._differs(entry, "the account above it", entry.parent, account["parent"])
        self._uses.append((entry.line, "account", entry.parent))
        self._fill(entry, account)

    def _add_user(self, entry: Entry) -> None:
        new: dict[str, Any] = {"default_account": None, "accounts": {}}
        user = self.wanted["users"].setdefault(entry.name, new)
        self._uses.append((entry.line, "account", entry.parent))
        for key, option in (("default_account", "DefaultAccount"), ("AdminLevel", "AdminLevel")):
            given = entry.fields.get(option)
            if given and user.setdefault(key, given) is None:
                user[key] = given
            elif given and user[key] != given:
                self._differs(entry, option, given, user[key])
        for account in entry.fields.get("Coordinator", ()):  # type: ignore[union-attr]
            self._uses.append((entry.line, "account", account))
            given = self.wanted["accounts"].get(account, {}).get("coordinators")
            if given and account not in self._leads and entry.name not in given:
                self._differs(entry, f"the coordinators of {account}", entry.name, ", ".join(given))
            self._leads.setdefault(account, {*(given or ())}).add(entry.name)
        place = str(entry.fields.get("Partition", ""))
        inside = user.setdefault("partitions", {}).setdefault(entry.parent, {}) if place else user["accounts"]
        self._fill(entry, inside.setdefault(place or entry.parent, {}))

    def _fill(self, entry: Entry, fields: dict[str, Any]) -> None:
        """Add the values of an entry to the fields of its entity, each where the words have none."""
        for column, value in entry.fields.items():
            if column in _NO_LIMITS:
                continue
            name = _OURS[column] if _OURS.get(column) in fields else column
            given = fields.get(name)
            if isinstance(value, dict) and given:
                before = parse(column, given)
                assert isinstance(before, dict)
                for tres in sorted(value.keys() & before):
                    if value[tres] != before[tres]:
                        self._differs(entry, column, {tres: value[tres]}, {tres: before[tres]})
                fields[name] = {**before, **value}
            elif given in (None, {}, []):
                fields[name] = value
            elif parse(column, given) != value:
                self._differs(entry, column, value, parse(column, given))
            for qos in (value if isinstance(value, list) else [value]) if column in (*_OURS, "Preempt") else ():
                self._uses.append((entry.line, "QoS", str(qos)))

    def _is_below_itself(self, name: str) -> bool:
        above, seen = self.wanted["accounts"][name]["parent"], set()
        while above in self.wanted["accounts"] and above not in seen and above != name:
            seen.add(above)
            above = self.wanted["accounts"][above]["parent"]
        return bool(above == name)

    def _differs(self, entry: Entry, what: str, here: Value, there: Value) -> None:
        message = f"{entry.kind} {entry.name}: {what} is {_shown(here)} here, and {_shown(there)} in the inventory"
        self._say(entry, message, "say it in one place")

    def _say(self, entry: Entry, message: str, hint: str) -> None:
        self.wrong.append((entry.line, message, hint))


def _shown(value: Value) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={number}" for name, number in sorted(value.items()))
    return ",".join(value) if isinstance(value, list) else str(value)
