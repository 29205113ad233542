"""The schema of a site's own promises in INVENTORY/rehearsal/*.yml."""

from typing import Self

from pydantic import Field, model_validator

from gpupool.cluster.schema.base import Count, Entry, Name, Word
from gpupool.cluster.units import Duration


class Submit(Entry):
    """Jobs to hand in: whose, with which of sbatch's options, how many alike. `name` is for later steps."""

    user: Name
    options: str = ""
    count: Count = 1
    name: Name | None = None


class Pending(Entry):
    """So many jobs wait, and squeue's reason has this word in it."""

    count: Count
    reason: Word | None = None


class Expect(Entry):
    """What becomes true of the jobs handed in last, or of those named by `of`, and stays so for a second."""

    of: Name | None = None
    running: Count | None = None
    pending: Pending | None = None
    requeued: Count | None = Field(
        None, description="Number of preempted jobs that are pending again or running again."
    )
    refused: Word | None = Field(None, description="Text that sbatch's refusal must contain.")
    within: Duration = 30


class Step(Entry):
    """Jobs are handed in, something is expected, jobs are cancelled by name; in this order where a step has several."""

    submit: Submit | None = None
    expect: Expect | None = None
    cancel: Name | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.submit or self.expect or self.cancel):
            raise ValueError("a step submits, expects or cancels something")
        return self


class Scenario(Entry):
    """A promise of the site's own, and the steps that try it on an empty cluster."""

    name: Name
    promise: Word
    steps: tuple[Step, ...] = Field(min_length=1)
