"""What every entry of an inventory has in common."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Count = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Word = Annotated[str, Field(strict=True, min_length=1)]
Name = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.@-]*$")]
AbsolutePath = Annotated[str, Field(strict=True, pattern=r"^/[^\s]*$")]


def _filled(path: str) -> str:
    where = dict.fromkeys(("user", "account", "domain", "id"), "x")
    try:
        filled = path.format_map(where)
    except (KeyError, ValueError, IndexError, AttributeError, TypeError):
        raise ValueError(f"{path!r}: only {{user}}, {{account}}, {{domain}} and {{id}} can be filled in") from None
    if not filled.startswith("/") or any(c.isspace() for c in filled):
        raise ValueError(f"{path!r} is not an absolute path without blanks")
    return path


PathOfUser = Annotated[str, Field(strict=True), AfterValidator(_filled)]
Mode = Annotated[str, Field(strict=True, pattern=r"^[0-7]{4}$")]
Nodes = Annotated[
    str,
    Field(
        strict=True,
        min_length=1,
        description=(
            "Nodes in ClusterShell's notation: a40-[01-04],clippy; @compute (a role); @gpu:a40; @hardware:big; "
            "@compute!vicki"
        ),
    ),
]


class Entry(BaseModel):
    """A mapping in an inventory: unknown keys are complaints, values never change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Fact(Entry):
    """An entry that says where its facts come from: `src`, and what of it is `inferred` (all, or some keys)."""

    src: Word | None = Field(None, description="Where this is written, such as a line of the cluster's user guide.")
    inferred: Flag | tuple[str, ...] = Field(
        False, description="True when the whole entry is a guess, or the list of its keys that are."
    )
