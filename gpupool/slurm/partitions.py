"""Partitions in slurmctld: the parser of `scontrol show partition`, and the accounts that a partition admits."""

from collections.abc import Collection

from gpupool.slurm import records


def read(answer: str | bytes) -> dict[str, dict[str, str]]:
    """Return the fields of partitions by name from `scontrol show partition`, with or without `-o`."""
    found: dict[str, dict[str, str]] = {}
    for record in records.read(answer, "PartitionName", {}):
        found.setdefault(record["PartitionName"], record)
    return found


def admits(line: Collection[str], allowed: Collection[str], denied: Collection[str]) -> bool:
    """Return whether a partition admits an account: by AllowAccounts, or else by DenyAccounts.

    `line` has the account, and its parent accounts if the release of Slurm checks them, too.
    """
    return any(name in allowed for name in line) if allowed else not any(name in denied for name in line)
