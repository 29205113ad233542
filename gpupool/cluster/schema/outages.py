"""Nodes and GPUs that are out of service for a while."""

from pydantic import Field

from gpupool.cluster.schema.base import Count, Nodes, SourcedEntry, Word
from gpupool.cluster.units import Day


class Outage(SourcedEntry):
    """Nodes, or some of their GPUs, that run no jobs until the entry is removed. Caps and totals stay as they are."""

    nodes: Nodes = Field(description="The nodes, by selector.")
    gpus: tuple[Count, ...] = Field(
        (), description="N of /dev/nvidiaN of each GPU that no job gets; default: the whole nodes."
    )
    reason: Word = Field(description="The reason, as users see it in `sinfo -R`.")
    until: Day | None = Field(None, description="The expected last day; `check` warns when it has passed.")
