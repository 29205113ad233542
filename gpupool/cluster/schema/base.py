"""The base classes and value types of all entries of an inventory."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from gpupool.cluster.quote import quoted


def one_line(word: str) -> str:
    """Return a string unchanged; ValueError if it contains line feeds or other control characters."""
    # people's names may contain other characters that cannot be printed, such as joiners
    if strange := next((sign for sign in word if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")), None):
        raise ValueError(f"{quoted(word)} contains {strange!r}; a string must be one line without control characters")
    return word


_WORDS: dict[str, str] = {}


def spelt(pattern: str, spelling: str, **more: Any) -> Any:
    """Return a string field with a pattern, and record `spelling`, the pattern's description in complaints."""
    _WORDS[pattern] = spelling
    return Field(strict=True, pattern=pattern, **more)


def in_words(pattern: str, value: str) -> str:
    """Return the description of a pattern, and the first character of the value that the pattern does not allow."""
    spelling = _WORDS.get(pattern, "not a valid value here")
    if not re.search(pattern, "aaa"):
        return spelling
    odd = next((sign for sign in value if not re.search(pattern, f"a{sign}a")), None)
    return f"{spelling}, and no {odd!r}" if odd else spelling


Count = Annotated[int, Field(strict=True, ge=0)]
Several = Annotated[int, Field(strict=True, ge=1)]
#: GPUs or MIG slices of one type in a node: 16 cards with 7 slices each are 112.
OnNode = Annotated[int, Field(strict=True, ge=1, le=1024)]
Flag = Annotated[bool, Field(strict=True)]
Word = Annotated[str, Field(strict=True, min_length=1), AfterValidator(one_line)]
Name = Annotated[str, spelt(r"^[A-Za-z0-9_][A-Za-z0-9_.@-]*$", "a name has letters, digits and _ . @ -")]

#: A further network; node names get it as an ending, so that a hyphen in it could make two of them equal.
NetworkName = Annotated[str, spelt(r"^[a-z][a-z0-9]*$", "a network's name has small letters and digits", max_length=15)]


def _for_all(value: Any) -> Any:
    if value is None or isinstance(value, Mapping):
        return value
    if type(value) is not int or value < 1:
        raise ValueError("write a whole number from 1, or numbers by GPU type: {default: 6, h100: 16}")
    return {"default": value}


#: A number, or a mapping of GPU type to number with `default` for all others; as data always a mapping.
NumberByType = Annotated[
    dict[Name, Several],
    Field(min_length=1),
    BeforeValidator(_for_all, json_schema_input_type=dict[Name, Several] | Several),
]
# a name, in which the {account} of `for_each` stands for each account
NameOfEach = Annotated[
    str,
    spelt(
        r"^([A-Za-z0-9_]|\{account\})([A-Za-z0-9_.@-]|\{account\})*$",
        "a name has letters, digits and _ . @ -, or {account}",
    ),
]
# a name that only Slurm has, which takes a colon for a letter in it, as in cpu:epyc
Label = Annotated[str, spelt(r"^[A-Za-z0-9_][A-Za-z0-9_.:@-]*$", "a name here has letters, digits and _ . : @ -")]
SacctField = Annotated[str, spelt(r"^[A-Za-z]+(%-?[0-9]{1,3})?$", "write a field of sacct, with a width: AllocTRES%50")]
CudaVersion = Annotated[str, spelt(r"^[0-9]{1,3}\.[0-9]{1,3}$", 'write two numbers in quotes: "12.4"')]
VariableName = Annotated[
    str, spelt(r"^[A-Za-z_][A-Za-z0-9_]*$", "a variable has letters, digits and _, and does not begin with a digit")
]
Domain = Annotated[
    str,
    spelt(
        r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$",
        "a domain has letters, digits and hyphens between its dots",
        max_length=200,
    ),
]
AbsolutePath = Annotated[str, spelt(r"^/[^\s]*$", "a path begins with / and has no spaces"), AfterValidator(one_line)]
#: A directory below another; Slurm replaces %n by the name of a node, and %h by its host name.
NodePath = Annotated[
    str,
    spelt(
        r"^(/([A-Za-z0-9_+]|%[nh])([A-Za-z0-9_.+-]|%[nh])*){2,}$",
        "a directory such as /var/spool/slurmd, with letters, digits, _ . + - and %n or %h",
    ),
]
# systemd, a shell and slurm.conf read these characters literally
PlainPath = Annotated[
    str, spelt(r"^(/[A-Za-z0-9_+][A-Za-z0-9_.+-]*)+$", "a path begins with / and has letters, digits and _ . + - here")
]

#: A placeholder that each user's value replaces; with [0], the first letter of the value.
PLACEHOLDER = re.compile(r"\{(user|account|domain|id)(\[0\])?\}")


def filled(path: str) -> str:
    """Return a path with `x` in place of each placeholder."""
    return PLACEHOLDER.sub("x", path)


def of_user(path: str, name: str, account: str) -> str:
    """Return the path of a user of an account. The id of `ann@example.org` is ann, its domain is example.org."""
    own, _, domain = name.partition("@")
    values = {"user": name, "account": account, "id": own, "domain": domain}
    return PLACEHOLDER.sub(lambda match: values[match[1]][:1] if match[2] else values[match[1]], path)


def _of_a_user(path: str) -> str:
    now = filled(path)
    if "{" in now or "}" in now:
        rule = "the only placeholders are {user}, {account}, {domain} and {id}, and with [0] their first letters"
        raise ValueError(f"{quoted(path)}: {rule}: {{user[0]}}")
    if not now.startswith("/") or any(c.isspace() for c in now):
        raise ValueError(f"{quoted(path)} is not an absolute path without spaces")
    return one_line(path)


def _text_of_a_user(text: str) -> str:
    rest = PLACEHOLDER.sub(lambda match: "" if match[1] in ("user", "account") else match[0], text)
    if "{" in rest or "}" in rest:
        rule = "the only placeholders are {user} and {account}, and with [0] their first letters"
        raise ValueError(f"{quoted(text)}: {rule}: {{user[0]}}")
    return one_line(text)


TextOfUser = Annotated[str, Field(strict=True, min_length=1), AfterValidator(_text_of_a_user)]
PathOfUser = Annotated[str, Field(strict=True), AfterValidator(_of_a_user)]
Mode = Annotated[str, spelt(r"^[0-7]{4}$", 'a mode has four digits of 0 to 7, in quotes: "0750"')]


@dataclass(frozen=True)
class Selector:
    """Marks a string type that selects nodes, so that the check of selectors finds its fields."""


NodeNames = Annotated[
    str,
    Field(
        strict=True,
        min_length=1,
        description=(
            "Nodes in ClusterShell's notation: a40-[01-04],clippy; @compute (a role); @gpu:a40; @hardware:big; "
            "@feature:quiet; @group:NAME (of `groups`); @owner:LAB (the nodes in its `owns`); @compute!vicki"
        ),
    ),
    AfterValidator(one_line),
]
#: A selector of nodes that the inventory defines; NodeNames has the same form and defines nodes.
Nodes = Annotated[NodeNames, Selector()]


class Entry(BaseModel):
    """A mapping in an inventory. An unknown key is a complaint; values never change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class SourcedEntry(Entry):
    """An entry with the source of its values (`src`), and the keys whose values are a guess (`inferred`)."""

    src: Word | None = Field(None, description="Source of this entry, such as a line of the cluster's user guide.")
    inferred: Flag | tuple[Word, ...] = Field(
        False, description="True if the whole entry is a guess, or a list of the keys whose values are guesses."
    )
