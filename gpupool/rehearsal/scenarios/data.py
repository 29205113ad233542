"""The schema of a site's own promises in INVENTORY/rehearsal/*.yml."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import Count, Entry, Name, Word
from gpupool.cluster.units import Duration


def _number(value: Any) -> int | Literal["pool"]:
    if value == "pool":
        return "pool"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError(f"{quoted(value)} is not a number of jobs; write a number, or pool for the number of GPUs")


# a number of jobs; `pool` is the number of the cluster's GPUs
Number = Annotated[
    int | Literal["pool"],
    PlainValidator(_number),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"const": "pool"}]}),
]


class Submit(Entry):
    """Jobs to submit: `count` equal jobs of a user, with options of sbatch. Later steps refer to them by `name`."""

    user: Name = Field(description="A user of the inventory, who submits them.")
    options: str = Field("", description="Options of sbatch, as one line.")
    count: Number = Field(1, description="Number of jobs, or `pool`: one for each GPU of the cluster.")
    name: Name | None = Field(None, description="Name for later steps; default: none.")


class Pending(Entry):
    """The number of pending jobs, and a text that squeue's reason of each contains."""

    count: Count = Field(description="Number of pending jobs.")
    reason: Word | None = Field(None, description="Text that squeue's reason of each contains; default: any reason.")


class Expect(Entry):
    """The expected state of the jobs that were submitted last, or of the jobs named by `of`; it must last a second."""

    of: Name | None = Field(None, description="Name of the jobs; default: those submitted last.")
    running: Number | None = Field(
        None, description="Number of running jobs, or `pool`: as many as the cluster has GPUs."
    )
    pending: Pending | None = Field(None, description="Number of pending jobs, and their reason.")
    requeued: Count | None = Field(
        None, description="Number of preempted jobs that are pending again or running again."
    )
    refused: Word | None = Field(None, description="Text that sbatch's refusal must contain.")
    within: Duration = Field(30, description="Maximum time until the state is reached.")


class Step(Entry):
    """A step of a scenario: submit jobs, expect a state, cancel jobs by name; in this order if it has several."""

    submit: Submit | None = Field(None, description="Submit jobs.")
    expect: Expect | None = Field(None, description="Expect a state of jobs.")
    cancel: Name | None = Field(None, description="Cancel the jobs with this name.")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.submit or self.expect or self.cancel):
            raise ValueError("a step submits, expects or cancels something")
        return self


class Scenario(Entry):
    """A promise of the site, and the steps that test it on an empty cluster."""

    name: Name = Field(description="Key of the promise, for `--only`.")
    promise: Word = Field(description="The promise, as users read it in the report.")
    steps: tuple[Step, ...] = Field(min_length=1, description="Steps that test it, on an empty cluster.")
