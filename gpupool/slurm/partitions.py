"""Partitions as slurmctld knows them: the one reader of `scontrol show partition`, and whom one admits."""

from collections.abc import Collection

from gpupool.slurm import records


def read(answer: str | bytes) -> dict[str, dict[str, str]]:
    """Return partitions by name, each with all that `scontrol show partition` prints, with or without `-o`."""
    found: dict[str, dict[str, str]] = {}
    for record in records.read(answer, "PartitionName", {}):
        found.setdefault(record["PartitionName"], record)
    return found


def admits(line: Collection[str], allowed: Collection[str], denied: Collection[str]) -> bool:
    """Return whether a partition admits an account: by AllowAccounts, or without these by DenyAccounts.

    `line` has the account, and those above it where the release of Slurm looks at these too.
    """
    return any(name in allowed for name in line) if allowed else not any(name in denied for name in line)
