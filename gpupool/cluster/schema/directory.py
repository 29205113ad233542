"""A directory service: its servers, and the range of uids and gids that are read from it."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import Count, SourcedEntry
from gpupool.unix import LARGEST_ID

_SERVER = re.compile(r"ldaps?://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?")
# a part of a name such as dc=example, without characters that sssd.conf or LDAP give a meaning
_PART = r"[A-Za-z][A-Za-z0-9-]*=[A-Za-z0-9_@.-]+( [A-Za-z0-9_@.-]+)*"
_DN = re.compile(rf"{_PART}(,{_PART})*")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_RANGE = re.compile(r"([0-9]{1,10})-([0-9]{1,10})")


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
    """A range of uids and gids, including `first` and `last`."""

    first: int
    last: int

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


def id_range(text: Any) -> Ids:
    """Return the range that a text such as `30000-59999` describes; ValueError if it is none."""
    match = _RANGE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{quoted(text)} is not a range of ids; write 30000-59999")
    first, last = int(match[1]), int(match[2])
    if not 1000 <= first <= last <= LARGEST_ID:
        raise ValueError(f"{quoted(text)} is not a range within 1000-{LARGEST_ID}; write the smaller number first")
    return Ids(first, last)


Server = Annotated[str, Field(strict=True), AfterValidator(_server)]
DistinguishedName = Annotated[str, Field(strict=True), AfterValidator(_dn)]
Certificate = Annotated[str, Field(strict=True), AfterValidator(_file)]
IdRange = Annotated[Ids, BeforeValidator(id_range), WithJsonSchema({"type": "string", "examples": ["30000-59999"]})]


class Directory(SourcedEntry):
    """A directory service (LDAP, Active Directory) whose groups define the users of accounts."""

    kind: Literal["rfc2307", "rfc2307bis", "ad"] = Field(
        "rfc2307",
        description="Schema of its groups' members: memberUid (rfc2307), member (rfc2307bis), or Active Directory's "
        "(ad). Users and groups of Active Directory need uidNumber and gidNumber.",
    )
    servers: tuple[Server, ...] = Field(
        min_length=1, description="LDAP servers, tried in this order; ldap:// is encrypted by StartTLS."
    )
    base: DistinguishedName = Field(description="Base DN of the search for users and groups.")
    tls_ca: Certificate | None = Field(
        None,
        description="File in `certificates/` beside the inventory with the CA certificate of the servers; default: "
        "Debian's CA certificates.",
    )
    bind_dn: DistinguishedName | None = Field(
        None,
        description="DN that nodes bind with; an admin puts the password on each node. Default: anonymous bind.",
    )
    ids: IdRange = Field(
        description="Range of its uids and gids. Others are ignored, and ids in the inventory are outside of it."
    )
    max_removals: Count = Field(
        10, description="Maximum number of users that one apply removes from accounts because they left the group."
    )
