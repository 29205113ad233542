"""Programs that come with gpupool, and periodic tasks on nodes."""

from typing import Literal

from pydantic import Field

from gpupool.cluster.schema.base import Count, Name, Nodes, SourcedEntry, Word
from gpupool.cluster.units import Duration


class Tool(SourcedEntry):
    """A program that comes with gpupool."""

    name: Word = Field(description="Name of the program.")
    where: Nodes
    options: dict[Name, Word | Count] = Field(
        default_factory=dict, description="Its defaults, such as gpus: 1 of sbash."
    )


class Timer(SourcedEntry):
    """A periodic task on nodes, except for storage."""

    job: Literal["docker-purge", "reaper", "shm-clean"] = Field(
        description="shm-clean: remove files in /dev/shm and /tmp of users whose last job on the node has ended."
    )
    every: Duration | None = Field(None, description="Time between two runs; or set `when`.")
    when: Literal["job-end"] | None = Field(None, description="The event that starts it; or set `every`.")
    where: Nodes
