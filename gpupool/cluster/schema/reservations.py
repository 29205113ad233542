"""Reservations: nodes or GPUs that some have to themselves at times, and maintenance that is planned."""

from typing import Literal

from pydantic import Field

from gpupool.cluster.schema.base import Fact, Flag, Name, Nodes, Several
from gpupool.cluster.units import Moment, Span


class Reservation(Fact):
    """What is reserved, for whom and when; jobs ask for it by its name: `sbatch --reservation=course`."""

    name: Name
    accounts: tuple[Name, ...] = Field((), description="Accounts whose jobs may run in it.")
    users: tuple[Name, ...] = Field(
        (), description="Users whose jobs may run in it; with `accounts`, only their jobs in these."
    )
    nodes: Nodes | None = Field(None, description="These nodes, whole.")
    node_count: Several | None = Field(None, description="So many whole nodes of `partition`, which Slurm chooses.")
    gpu: Several | None = Field(None, description="So many GPUs of any type in `partition`, which Slurm chooses.")
    gpus: dict[Name, Several] = Field(default_factory=dict, description="The same by GPU type.")
    partition: Name | None = Field(
        None, description="Partition of the nodes; with it jobs that name the reservation alone run there."
    )
    start: Moment = Field(description="Its first day and time, in the cluster's time zone: 2030-01-31 10:00.")
    duration: Span
    every: Literal["day", "weekday", "weekend", "week"] | None = Field(
        None, description="How often it comes again, always at the same time; default: once."
    )
    maintenance: Flag = Field(
        False, description="Slurm counts the nodes as in maintenance; without accounts and users root's jobs alone run."
    )
    ignore_jobs: Flag = Field(
        False, description="Make it although jobs may still run there when it begins; they are not ended."
    )
    flex: Flag = Field(False, description="Its jobs may begin before it, end after it and use other nodes, too.")
    free_after: Span | None = Field(
        None, description="It ends (until its next time) when no job has used it for so long."
    )
