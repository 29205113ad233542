"""What slurmctld runs with, and slurm.conf beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpupool.slurm import nodes, partitions

#: The unit of the arbiter, whose guard limits what jobs hold.
ARBITER = "gpupool-arbiter.service"


@dataclass(frozen=True)
class SlurmState:
    """The text of slurm.conf; slurmctld's configuration, partitions and nodes, as scontrol shows their keys.

    `trouble` is why slurmctld did not answer, and then the rest is empty or a part. `arbiter` is the problem that the
    arbiter reports, such as jobs that its guard holds.
    """

    text: str = ""
    config: dict[str, str] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    nodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    trouble: str = ""
    arbiter: str = ""


def state_of(text: str, config: str, partition: str, node: str, trouble: str = "", arbiter: str = "") -> SlurmState:
    """Return the state from what scontrol prints for `show config`, `show partition` and `show node`."""
    pairs = (line.partition("=") for line in config.split("\n") if " = " in line)
    return SlurmState(
        text=text,
        config={key.strip(): value.strip() for key, _, value in pairs},
        partitions=partitions.read(partition),
        nodes={name: state.fields for name, state in nodes.read(node).items()},
        trouble=trouble,
        arbiter=arbiter,
    )
