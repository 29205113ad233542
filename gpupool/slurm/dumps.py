"""Read accounts, users and their associations in the notation of `sacctmgr dump`.

The notation is that of sacctmgr(1), FLAT FILE DUMP AND LOAD; names of options are those of `keys/association.tsv`.
Lines of QoS have the same form: `gpupool render` writes them, and sacctmgr of Slurm 26.11 dumps them. The rules of
quotes, comments and blank values are those of src/sacctmgr/file_functions.c of 26.11. A shortened name of an option is
read if it can be one option only. Dumps of 24.11 have two forms that sacctmgr itself does not load: a Fairshare of
2147483647 is `parent`, and the type of a GPU is not in quotes (`GrpTRES=gres/gpu:a100=4`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from gpupool.slurm.keys.limits import Value, parse
from gpupool.slurm.keys.tables import keys

_ODD = re.compile(r"[^!-~]|[|,:'\"]")
_HEAD = re.compile(r"\s*([A-Za-z]+)\s+-\s+(.*)", re.DOTALL)
_KINDS = {
    "cluster": "cluster",
    "parent": "parent",
    "account": "account",
    "project": "account",
    "user": "user",
    "qos": "qos",
}
_WORDS = {"defaultaccount": "DefaultAccount", "partition": "Partition", "adminlevel": "AdminLevel"}
#: Limits of releases before 15.08, with the TRES that they are of.
_OLD = {
    "grpcpus": ("GrpTRES", "cpu"), "grpnodes": ("GrpTRES", "node"), "grpmemory": ("GrpTRES", "mem"),
    "grpcpumins": ("GrpTRESMins", "cpu"), "grpcpurunmins": ("GrpTRESRunMins", "cpu"),
    "maxcpus": ("MaxTRES", "cpu"), "maxcpusperjob": ("MaxTRES", "cpu"), "maxnodes": ("MaxTRES", "node"),
    "maxnodesperjob": ("MaxTRES", "node"), "maxcpumins": ("MaxTRESMins", "cpu"),
    "maxcpuminsperjob": ("MaxTRESMins", "cpu"),
}  # fmt: skip
_LEVELS = {"none": "None", "operator": "Operator", "administrator": "Administrator", "admin": "Administrator"}
_PARENT = "2147483647"  # SLURMDB_FS_USE_PARENT of slurmdb.h
_SHORTEST = 4  # characters of a shortened name
_LISTS = {"coordinator": "Coordinator", "coordinators": "Coordinator"}
#: Options that gpupool leaves alone in slurmdbd.
LEFT_ALONE = {
    "description": "Description", "organization": "Organization", "wckey": "WCKeys", "wckeys": "WCKeys",
    "defaultwckey": "DefaultWCKey", "classification": "Classification", "comment": "Comment",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One line: `kind` is cluster, account, user or qos; `parent` is the account above an account or of a user.

    `fields` are in the form of `keys.limits.parse`; DefaultAccount, Partition and AdminLevel
    are words, Coordinator is a list of accounts.
    `left` are the options that gpupool leaves alone, in sacctmgr's spelling.
    """

    line: int
    kind: str
    name: str
    parent: str = ""
    fields: dict[str, Value] = field(default_factory=dict)
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trouble:
    """A wrong line, counted from 1, and the reason."""

    line: int
    message: str


def read(text: str) -> tuple[list[Entry], list[Trouble]]:
    """Return the entries of a dump in their order, and all lines that are wrong; a wrong line has no entry."""
    entries: list[Entry] = []
    troubles: list[Trouble] = []
    parent = "root"
    for number, raw in _lines(text):
        line = _without_comment(raw).strip()
        if not line:
            continue
        try:
            entry = _entry(number, line, parent)
        except ValueError as error:
            troubles.append(Trouble(number, str(error)))
            continue
        if entry.kind == "parent":
            parent = entry.name
        else:
            entries.append(entry)
    return entries, troubles


def _entry(number: int, line: str, parent: str) -> Entry:
    head = _HEAD.fullmatch(line)
    kind = _KINDS.get(head[1].lower()) if head else None
    if head is None or kind is None:
        raise ValueError("a line begins with Cluster, Parent, Account, User or QOS, then ' - ' and a name")
    name, *options = _with_types(_parts(head[2]))
    if not name or _ODD.search(name):
        raise ValueError(f"{name!r} is not a name")
    fields: dict[str, Value] = {}
    left: list[str] = []
    for option in options:
        key, equals, value = (part.strip() for part in option.partition("="))
        if option and not equals:
            raise ValueError(f"{option!r} has no =")
        if not value:  # sacctmgr discards it
            continue
        if key.endswith(("+", "-")):
            raise ValueError(f"{key}= changes a list; write the whole list after {key[:-1]}=")
        if (whole := _whole("qos" if kind == "qos" else "association", key.lower())) in LEFT_ALONE:
            left.append(LEFT_ALONE[whole])
            continue
        column, parsed = _option("qos" if kind == "qos" else "association", key, value)
        before = fields.get(column)
        if column in fields and not (
            isinstance(before, dict) and isinstance(parsed, dict) and not before.keys() & parsed
        ):
            raise ValueError(f"{column} has two values")
        fields[column] = {**before, **parsed} if isinstance(before, dict) and isinstance(parsed, dict) else parsed
    return Entry(number, kind, name, parent if kind in ("account", "user") else "", fields, tuple(left))


def _option(table: str, key: str, value: str) -> tuple[str, Value]:
    low = _whole(table, key.lower())
    if table == "association":
        if low in _LISTS:
            return _LISTS[low], sorted({each for each in value.split(",") if each})
        if low == "adminlevel" and value.lower() in _LEVELS:
            return "AdminLevel", _LEVELS[value.lower()]
        if low in _WORDS and low != "adminlevel":
            return _WORDS[low], value
        if low in _OLD:
            column, name = _OLD[low]
            return column, parse(column, {name: value})
    known = keys(table).get(low)
    if known is None or known.value == "Parent":
        raise ValueError(f"sacctmgr has no option {key!r} here" if low != "adminlevel" else f"no AdminLevel {value!r}")
    if known.value in ("QOS", "Preempt") and re.search(r"(^|,)[+-]", value):
        raise ValueError(f"{key}={value} changes a list; write the whole list")
    if known.value == "Fairshare":  # sacctmgr compares the word parent in any case
        value = "parent" if value == _PARENT else value.lower()
    return known.value, parse(known.value, value)


@lru_cache(maxsize=1024)
def _whole(table: str, name: str) -> str:
    """Return the whole name of an option, in lower case; the name itself if it is not short for one option only."""
    more = (*_LISTS, *_WORDS, *_OLD, *LEFT_ALONE) if table == "association" else ()
    if name in keys(table) or name in more or len(name) < _SHORTEST:
        return name
    found = [each for each in (*keys(table), *more) if each.startswith(name)]
    columns = {known.value if (known := keys(table).get(each)) else _LISTS.get(each, each) for each in found}
    return found[0] if len(columns) == 1 else name


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its number; a line that ends with a single backslash continues in the next."""
    first, whole = 1, ""
    for number, line in enumerate(text.split("\n"), start=1):
        first = first if whole else number
        whole += line
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            whole = whole[:-1]
            continue
        yield first, whole
        whole = ""
    if whole:
        yield first, whole


def _with_types(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts, each type of a gres joined to its gres: `GrpTRES=gres/gpu:a100=4` was parted at the colon."""
    before: str | None = None
    for part in parts:
        if before is not None and re.search(r"[=,]gres/[^=,]+$", before):
            before += f":{part}"
            continue
        if before is not None:
            yield before
        before = part
    if before is not None:
        yield before


def _parts(text: str) -> Iterator[str]:
    """Return the texts between the colons that are not in quotes, without the quotes; ValueError for an open quote."""
    part, quote = "", ""
    for character in text:
        if quote:
            quote, part = ("", part) if character == quote else (quote, part + character)
        elif character in "'\"":
            quote = character
        elif character == ":":
            yield part.strip()
            part = ""
        else:
            part += character
    if quote:
        raise ValueError(f"the quote {quote} has no end")
    yield part.strip()


def _without_comment(line: str) -> str:
    """Return a line up to its first # without a backslash; quotes do not protect a #. Backslashes are removed."""
    kept = re.match(r"(?:\\.|[^#\\])*", line)
    return re.sub(r"\\(.)", r"\1", kept[0] if kept else "")
