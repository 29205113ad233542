"""What slurmctld runs with, and slurm.conf beside it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file

PATIENCE = 15  # seconds for each of its answers

_LOOK = shell_file(__package__, "live.sh")
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


class LiveSlurm(Look[SlurmState]):
    """All of it in one command."""

    def command(self, path: str) -> StringCommand:
        """Ask for the file at `path` and for what slurmctld says."""
        return ask(_LOOK, path, str(PATIENCE), limit=4 * PATIENCE)

    def read(self, lines: list[str]) -> SlurmState:
        """Read the answer."""
        by: dict[str, list[str]] = {}
        for line in lines:
            letter, _, rest = line.partition("\t")
            by.setdefault(letter, []).append(rest)
        pairs = (line.partition("=") for line in by.get("C", []) if " = " in line)
        partitions, nodes = ([pairs_of(line) for line in by.get(letter, [])] for letter in "PN")
        return SlurmState(
            text="\n".join(by.get("F", [])),
            config={key.strip(): value.strip() for key, _, value in pairs},
            partitions={it["PartitionName"]: it for it in partitions if "PartitionName" in it},
            nodes={it["NodeName"]: it for it in nodes if "NodeName" in it},
            trouble="".join(by.get("T", [])[:1]),
        )


def pairs_of(line: str) -> dict[str, str]:
    """Return the `Key=value` words of a line; a value goes on, blanks and all, up to the next key."""
    parts = _PAIR.split(line)
    return {key: value.strip() for key, value in zip(parts[1::2], parts[2::2], strict=True)}
