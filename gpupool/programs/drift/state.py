"""What slurmctld runs with, and slurm.conf beside it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_PAIR = re.compile(r"(?:^|\s+)([A-Za-z][\w:]*)=")


@dataclass(frozen=True)
class SlurmState:
    """The text of slurm.conf; slurmctld's configuration, partitions and nodes, as scontrol shows their keys.

    `trouble` is why slurmctld did not answer, and then the rest is empty or a part.
    """

    text: str = ""
    config: dict[str, str] = field(default_factory=dict)
    partitions: dict[str, Mapping[str, str]] = field(default_factory=dict)
    nodes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    trouble: str = ""


def state_of(
    text: str, config: Iterable[str], partitions: Iterable[str], nodes: Iterable[str], trouble: str = ""
) -> SlurmState:
    """Return the state from lines of `scontrol show config`, `-o show partition` and `-o show node`."""
    pairs = (line.partition("=") for line in config if " = " in line)
    by_partition, by_node = ([pairs_of(line) for line in lines] for lines in (partitions, nodes))
    return SlurmState(
        text=text,
        config={key.strip(): value.strip() for key, _, value in pairs},
        partitions={it["PartitionName"]: it for it in by_partition if "PartitionName" in it},
        nodes={it["NodeName"]: it for it in by_node if "NodeName" in it},
        trouble=trouble,
    )


def pairs_of(line: str) -> dict[str, str]:
    """Return the `Key=value` words of a line; a value goes on, blanks and all, up to the next key."""
    parts = _PAIR.split(line)
    return {key: value.strip() for key, value in zip(parts[1::2], parts[2::2], strict=True)}
