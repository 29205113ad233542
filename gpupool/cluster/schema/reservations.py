"""Reservations of nodes or GPUs for some users or accounts, and planned maintenance."""

from typing import Literal

from pydantic import Field

from gpupool.cluster.schema.base import Flag, Label, Name, Nodes, Several, SourcedEntry
from gpupool.cluster.units import Moment, Span


class Reservation(SourcedEntry):
    """A reservation of nodes or GPUs. Jobs request it by its name: `sbatch --reservation=course`."""

    name: Label = Field(description="Slurm's name of the reservation, for `--reservation`.")
    accounts: tuple[Name, ...] = Field((), description="Accounts whose jobs may run in it.")
    users: tuple[Name, ...] = Field(
        (), description="Users whose jobs may run in it. With `accounts` as well, a job needs one of both."
    )
    nodes: Nodes | None = Field(None, description="Whole nodes, by selector.")
    node_count: Several | None = Field(None, description="Number of whole nodes of `partition`; Slurm chooses them.")
    gpu: Several | None = Field(None, description="Number of GPUs of any type in `partition`; Slurm chooses them.")
    gpus: dict[Name, Several] = Field(
        default_factory=dict, description="Number of GPUs by type in `partition`; Slurm chooses them."
    )
    partition: Name | None = Field(
        None, description="Partition of the nodes or GPUs, and of jobs with `--reservation` and without `--partition`."
    )
    start: Moment = Field(description="First start, in the cluster's time zone: 2030-01-31 10:00.")
    duration: Span = Field(description="How long it lasts each time: 2h, 1w.")
    every: Literal["day", "weekday", "weekend", "week"] | None = Field(
        None, description="How often it recurs, at the same time of day; default: once."
    )
    maintenance: Flag = Field(
        False,
        description="Its nodes are in state MAINTENANCE. Without accounts and users only root's jobs run.",
    )
    ignore_jobs: Flag = Field(
        False, description="Create it even if jobs may still run there when it begins; these jobs are not ended."
    )
    flex: Flag = Field(
        False, description="Jobs that request it may start earlier, end later, and also use other nodes."
    )
    free_after: Span | None = Field(
        None,
        description="It ends early if no job uses it for this time; a reservation that recurs begins again as planned.",
    )
