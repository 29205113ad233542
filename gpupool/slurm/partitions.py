"""Partitions as slurmctld knows them: the one reader of `scontrol show partition`."""

from gpupool.slurm import records


def read(answer: str | bytes) -> dict[str, dict[str, str]]:
    """Return partitions by name, each with all that `scontrol show partition` prints, with or without `-o`."""
    found: dict[str, dict[str, str]] = {}
    for record in records.read(answer, "PartitionName", {}):
        found.setdefault(record["PartitionName"], record)
    return found
