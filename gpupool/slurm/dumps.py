"""Read accounts, users and their associations in the notation of `sacctmgr dump`.

The notation is that of sacctmgr(1), FLAT FILE DUMP AND LOAD; names of options are those of `keys/association.tsv`.
Lines of QoS have the same form: `gpupool render` writes them, and sacctmgr of Slurm 26.11 dumps them. The rules of
quotes, comments and blank values are those of src/sacctmgr/file_functions.c of 26.11; shortened names of options, which
sacctmgr accepts, are refused here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpupool.slurm.keys.limits import Value, parse
from gpupool.slurm.keys.tables import keys

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
    """What is wrong with a line, counted from 1."""

    line: int
    message: str


def read(text: str) -> tuple[list[Entry], list[Trouble]]:
    """Return the entries of a dump in their order, and all lines that are wrong; a wrong line has no entry."""
    entries: list[Entry] = []
    troubles: list[Trouble] = []
    parent = "root"
    for number, raw in enumerate(text.split("\n"), start=1):
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
    name, *options = _parts(head[2])
    if not name or re.search(r"[^!-~]|[|,:'\"]", name):
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
        if key.lower() in LEFT_ALONE:
            left.append(LEFT_ALONE[key.lower()])
            continue
        column, parsed = _option("qos" if kind == "qos" else "association", key, value)
        if column in fields:
            raise ValueError(f"{column} has two values")
        fields[column] = parsed
    return Entry(number, kind, name, parent if kind in ("account", "user") else "", fields, tuple(left))


def _option(table: str, key: str, value: str) -> tuple[str, Value]:
    low = key.lower()
    if low in _LISTS and table == "association":
        return _LISTS[low], sorted({each for each in value.split(",") if each})
    if low in _WORDS and table == "association":
        return _WORDS[low], value
    known = keys(table).get(low)
    if known is None or known.value == "Parent":
        raise ValueError(f"sacctmgr has no option {key!r} here")
    # sacctmgr compares the word parent in any case
    return known.value, parse(known.value, value.lower() if known.value == "Fairshare" else value)


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
