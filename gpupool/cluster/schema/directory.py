"""A directory service of people: where it is, and whose numbers are taken from it."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import Count, Fact

_SERVER = re.compile(r"ldaps?://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?")
# a part of a name such as dc=example: without what sssd.conf, or LDAP, reads as more than a part
_PART = r"[A-Za-z][A-Za-z0-9-]*=[A-Za-z0-9_@.-]+( [A-Za-z0-9_@.-]+)*"
_DN = re.compile(rf"{_PART}(,{_PART})*")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_RANGE = re.compile(r"([0-9]{1,10})-([0-9]{1,10})")
_LARGEST = 2**31 - 1  # Slurm, NFS and tar keep some numbers with a sign


def _server(text: str) -> str:
    if not _SERVER.fullmatch(text):
        raise ValueError(f"{quoted(text)} is not an LDAP server; write ldaps://ldap.example.org")
    return text


def _dn(text: str) -> str:
    if not _DN.fullmatch(text):
        raise ValueError(
            f"{quoted(text)} is not a distinguished name; write dc=example,dc=org, with letters, digits, spaces, "
            "_, ., @ and - in each part"
        )
    return text


def _file(text: str) -> str:
    if not _FILE.fullmatch(text):
        raise ValueError(f"{quoted(text)} is not the name of a file in `certificates/`; write ca.pem")
    return text


@dataclass(frozen=True)
class Ids:
    """Numbers of users and groups, `first` and `last` included."""

    first: int
    last: int

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


def _ids(text: Any) -> Ids:
    match = _RANGE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{quoted(text)} is not a range of numbers; write 30000-59999")
    first, last = int(match[1]), int(match[2])
    if not 1000 <= first <= last <= _LARGEST:
        raise ValueError(f"{quoted(text)} is not a range within 1000-{_LARGEST}; write the smaller number first")
    return Ids(first, last)


Server = Annotated[str, Field(strict=True), AfterValidator(_server)]
DistinguishedName = Annotated[str, Field(strict=True), AfterValidator(_dn)]
Certificate = Annotated[str, Field(strict=True), AfterValidator(_file)]
IdRange = Annotated[Ids, BeforeValidator(_ids), WithJsonSchema({"type": "string", "examples": ["30000-59999"]})]


class Directory(Fact):
    """A directory service (LDAP, Active Directory) whose groups say who the users of accounts are."""

    kind: Literal["rfc2307", "rfc2307bis", "ad"] = Field(
        "rfc2307",
        description="How its groups name their members: memberUid (rfc2307), member (rfc2307bis), or as in Active "
        "Directory (ad), whose users and groups need uidNumber and gidNumber.",
    )
    servers: tuple[Server, ...] = Field(
        min_length=1, description="In the order in which they are asked; ldap:// is encrypted by StartTLS."
    )
    base: DistinguishedName = Field(description="Users and groups are searched below it.")
    tls_ca: Certificate | None = Field(
        None,
        description="File in `certificates/` beside the inventory: who signed the servers' certificates; default: "
        "those that Debian knows.",
    )
    bind_dn: DistinguishedName | None = Field(
        None,
        description="Who the nodes log in as; an admin puts the password on each node. Default: they ask anonymously.",
    )
    ids: IdRange = Field(
        description="Numbers of its users and groups. Others are not seen, and none in the inventory is within."
    )
    max_removals: Count = Field(
        10, description="Most users that one apply removes from an account because they left its group."
    )
