"""Repositories of packages besides the distribution's own."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import Name, SourcedEntry, spelt

# apt ignores files with other characters in their names
RepositoryName = Annotated[
    str, spelt(r"^[A-Za-z0-9][A-Za-z0-9._-]*$", "the name of a repository has letters, digits and . _ -")
]
_ARMORED = re.compile(
    r"-----BEGIN PGP PUBLIC KEY BLOCK-----\n([A-Za-z]+: [ -~]*\n)*\n([A-Za-z0-9+/=]+\n)+"
    r"-----END PGP PUBLIC KEY BLOCK-----\n?"
)


def _repository_key(key: str) -> str:
    if "PRIVATE KEY" in key:
        raise ValueError("this is a private key: anyone who reads it can sign packages (write the public key)")
    if not _ARMORED.fullmatch(key):
        raise ValueError(
            f"{quoted(key)} is not an armored public key; write all lines of `gpg --armor --export` after `key: |`"
        )
    return key


RepositoryKey = Annotated[str, Field(strict=True), AfterValidator(_repository_key)]


class Repository(SourcedEntry):
    """A repository of Debian packages besides the distribution's own."""

    url: Annotated[
        str, spelt(r'^https?://[!"$-~]+$', "an address begins with https:// or http:// and has no spaces and no #")
    ] = Field(description="Address of the repository, as in sources.list.")
    suite: Annotated[
        str,
        spelt(
            r"^[A-Za-z0-9./][A-Za-z0-9._/-]*$",
            "a suite has letters, digits and . _ / -",
            description="Such as trixie; ends with a slash if the repository has no suites: ./",
        ),
    ]
    components: tuple[Name, ...] = Field(
        (), description="Components of the suite, such as main; none if the suite ends with a slash."
    )
    key: RepositoryKey = Field(description="The public key that signs it: the whole armored block.")
