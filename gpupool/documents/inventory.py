"""The documents of `check` and `explain`, which read only the inventory."""

from typing import Literal

from typing_extensions import TypedDict


class ComplaintEntry(TypedDict):
    """One problem of the inventory."""

    file: str
    """File, relative to the inventory."""
    line: int
    """Line of the file, from 1."""
    path: str
    """Key in the inventory, with dots: `partitions[0].max_time`. Empty for a whole file."""
    severity: Literal["error", "warning", "info"]
    """An inventory with an `error` cannot be applied."""
    code: str
    """Name of the check. It never changes."""
    accepted: str | None
    """The inventory's reason to accept this warning; null if it does not."""
    words: str
    """The problem, as text."""
    hint: str | None
    """The text to write instead, if it is known."""


class CheckDocument(TypedDict):
    """The problems of an inventory."""

    ok: bool
    """Whether the inventory has no error."""
    complaints: list[ComplaintEntry]
    """All problems, also accepted warnings."""


class ValueEntry(TypedDict):
    """One effective setting."""

    key: str
    """Key of the inventory, or Slurm's name of the value."""
    value: str
    """The value, as text."""
    file: str | None
    """File that sets the value, relative to the inventory; null for a default."""
    line: int | None
    """Line of that file, from 1; null for a default."""


class ExplainedEntry(TypedDict):
    """The settings of one thing with the name."""

    what: str
    """Its kind: `node`, `partition`, `account`, `user`, `QoS`."""
    name: str
    """The name."""
    values: list[ValueEntry]
    """The effective settings."""


class ExplainDocument(TypedDict):
    """The effective settings of everything that has the name."""

    explained: list[ExplainedEntry]
    """One entry for each thing with the name: an account and a user may have the same."""
