"""A cluster's accounting from a dump of sacctmgr: `slurm/accounting.cfg`, and what would differ in slurmdbd."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from gpupool.adopt.controller import ACCOUNTS
from gpupool.adopt.folder import Folder
from gpupool.cluster.accounting_file import FILE
from gpupool.cluster.complaints import Place
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.accounting import entities, of_words
from gpupool.compile.slurm.sacctmgr import entry_line
from gpupool.compile.slurm.site_accounting import disagreements
from gpupool.facts.accounting import empty, new_user
from gpupool.operations.accounting import difference, normal
from gpupool.operations.accounting.steps import properties
from gpupool.slurm.dumps import Entry, read
from gpupool.slurm.keys.limits import ASSOC_FIELDS, QOS_FIELDS, parse

#: Options of each account, which Slurm itself fills in; others that gpupool leaves alone are named.
_USUAL = ("Description", "Organization")


@dataclass(frozen=True)
class Dump:
    """The name of a dump in the folder, its entries with their lines in it, and the text of accounting.cfg."""

    name: str
    entries: tuple[Entry, ...]
    text: str


@dataclass(frozen=True)
class Proof:
    """The number of entities in a dump, what of them would differ, and whether the dump has QoS."""

    entities: int
    differ: list[str]
    has_qos: bool


def dump_of(folder: Folder, cluster: str) -> Dump | None:
    """Return the dump of a folder, for a `cluster` of this name; None without one. Wrong lines become complaints."""
    name = next((name for name in _candidates(folder) if _is_dump(folder, name)), None)
    text = name and folder.read(name)
    if not name or not text:
        return None
    found, troubles = read(text)
    for trouble in troubles:
        folder.complain(Place(name, trouble.line), f"not taken: {trouble.message}")
    taken = tuple(entry for entry in found if entry.kind in ("cluster", "qos") or entry.name != "root")
    if left := sorted({option for entry in taken for option in entry.left} - set(_USUAL)):
        folder.complain(Place(name, 1), f"gpupool leaves {', '.join(left)} alone: slurmdbd keeps them")
    renamed = (replace(entry, name=cluster) if entry.kind == "cluster" else entry for entry in taken)
    return _written(name, tuple(renamed))


def agreeing(dump: Dump, cluster: Cluster, folder: Folder) -> Dump:
    """Return the dump without the lines that do not agree with the inventory; they become complaints."""
    stated = of_words(cluster)
    while True:
        numbers = dict(_numbered(dump))
        wrong = disagreements(replace(cluster, attached={**cluster.attached, FILE: dump.text}), stated)
        gone = {numbers[each.place.line].line: each.complaint for each in wrong if each.place.line in numbers}
        if not gone:
            return dump
        for line, complaint in gone.items():
            folder.complain(Place(dump.name, line), f"not taken: {complaint.message}")
        dump = _written(dump.name, tuple(entry for entry in dump.entries if entry.line not in gone))


def prove(dump: Dump, cluster: Cluster) -> Proof:
    """Return what an apply would change in a slurmdbd that has what the dump says."""
    now = _now(dump.entries, cluster.name)
    wanted = normal(entities(replace(cluster, attached={**cluster.attached, FILE: dump.text})))
    has_qos = any(entry.kind == "qos" for entry in dump.entries)
    if not has_qos:
        now["qos"] = wanted["qos"]
    return Proof(len(dump.entries), list(properties(difference(now, wanted))), has_qos)


def _candidates(folder: Folder) -> list[str]:
    others = [name for name in folder.names() if name.endswith(".cfg") and name != ACCOUNTS]
    return [*([ACCOUNTS] if folder.has(ACCOUNTS) else []), *others]


def _is_dump(folder: Folder, name: str) -> bool:
    if name == ACCOUNTS:
        return True
    text = folder.read(name) or ""
    lines = (line.strip().lower() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return first.startswith("cluster -")


def _written(name: str, entries: tuple[Entry, ...]) -> Dump:
    return Dump(name, entries, "".join(f"{line}\n" for line, _ in _lines(entries)))


def _numbered(dump: Dump) -> list[tuple[int, Entry]]:
    return [(at, entry) for at, (_, entry) in enumerate(_lines(dump.entries), start=1) if entry is not None]


def _lines(entries: Iterable[Entry]) -> list[tuple[str, Entry | None]]:
    """Return the lines of accounting.cfg, each with its entry; a Parent line has none."""
    lines: list[tuple[str, Entry | None]] = []
    parent = ""
    for entry in entries:
        if entry.parent and entry.parent != parent:
            lines.append((f"Parent - '{entry.parent}'", None))
            parent = entry.parent
        lines.append((entry_line(entry), entry))
    return lines


def _now(entries: Iterable[Entry], cluster: str) -> dict[str, Any]:
    """Return the state of a slurmdbd that has these entries, in the form of the fact."""
    now = empty() | {"cluster": [cluster], "jobs": []}
    now["accounts"]["root"] = {"parent": "", **_fields(ASSOC_FIELDS, {}), "coordinators": []}
    leads: list[tuple[str, str]] = []
    for entry in entries:
        if entry.kind == "qos":
            now["qos"][entry.name] = _fields(QOS_FIELDS, entry.fields)
        elif entry.kind == "cluster":
            now["accounts"]["root"] |= _fields(ASSOC_FIELDS, entry.fields)
        elif entry.kind == "account":
            fields = _fields(ASSOC_FIELDS, entry.fields)
            now["accounts"][entry.name] = {"parent": entry.parent, **fields, "coordinators": []}
        else:
            user = now["users"].setdefault(entry.name, new_user() | {"default_account": entry.parent})
            user["default_account"] = entry.fields.get("DefaultAccount", user["default_account"])
            user["AdminLevel"] = entry.fields.get("AdminLevel", user["AdminLevel"])
            place = str(entry.fields.get("Partition", ""))
            inside = user["partitions"].setdefault(entry.parent, {}) if place else user["accounts"]
            inside[place or entry.parent] = _fields(ASSOC_FIELDS, entry.fields)
            given = entry.fields.get("Coordinator")
            leads += [(account, entry.name) for account in given] if isinstance(given, list) else []
    for account, user in sorted(set(leads)):
        if account in now["accounts"]:
            now["accounts"][account]["coordinators"].append(user)
    return now


def _fields(names: Iterable[str], given: Any) -> dict[str, Any]:
    return {name: given.get(name, parse(name, None)) for name in names}
