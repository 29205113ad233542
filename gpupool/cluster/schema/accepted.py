"""Warnings of `gpupool check` that a site accepts."""

from pydantic import Field

from gpupool.cluster.schema.base import Entry, Word


class AcceptedWarning(Entry):
    """A warning that `gpupool check` counts, but does not print."""

    warning: Word = Field(description="The code at the end of the warning, without its brackets.")
    at: Word | None = Field(
        None,
        description="The warning's path, or its beginning, with the name of a list's entry in place of its number: "
        "`storage.exports`, `nodes[files]`; default: all warnings with this code.",
    )
    reason: Word = Field(description="Why the site accepts the warning.")
