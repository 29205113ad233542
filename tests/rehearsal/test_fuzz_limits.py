"""A real slurmctld accepts and refuses jobs on a random cluster as the words of its inventory say. Needs docker.

`script/fuzz --limits 20` tries more clusters.
"""

from pathlib import Path

from fuzzed_limits.run import tried

SEED = 1


def test_slurm_accepts_the_jobs_that_an_inventory_allows(apart: None, tmp_path: Path) -> None:
    (outcome,) = tried(SEED, 1, tmp_path)
    assert outcome.differences == []
    assert outcome.accepted
    assert outcome.refused
