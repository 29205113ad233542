"""The settings that slurmctld runs with, and its slurm.conf."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpupool.slurm import nodes, partitions

#: The unit of the arbiter, whose guard limits what jobs hold.
ARBITER = "gpupool-arbiter.service"


@dataclass(frozen=True)
class SlurmState:
    """The text of slurm.conf, and slurmctld's configuration, partitions and nodes with the keys of scontrol.

    `trouble` is the reason if slurmctld did not answer; the other fields are then empty or incomplete. `arbiter` is the
    problem that the arbiter reports, such as jobs that its guard holds.
    """

    text: str = ""
    config: dict[str, str] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    nodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    trouble: str = ""
    arbiter: str = ""


def state_of(text: str, config: str, partition: str, node: str, trouble: str = "", arbiter: str = "") -> SlurmState:
    """Return the state from the output of scontrol's `show config`, `show partition` and `show node`."""
    pairs = (line.partition("=") for line in config.split("\n") if " = " in line)
    return SlurmState(
        text=text,
        config={key.strip(): value.strip() for key, _, value in pairs},
        partitions=partitions.read(partition),
        nodes={name: state.fields for name, state in nodes.read(node).items()},
        trouble=trouble,
        arbiter=arbiter,
    )
