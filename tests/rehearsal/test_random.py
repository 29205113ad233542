"""An inventory that check accepts produces files that a real slurmctld and slurmd accept. Needs docker.

`script/fuzz --slurm 500` tries more; the seed is that of the inventories.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import full
import fuzz_taken
import pytest

from gpupool.cluster.model import Cluster
from gpupool.slurm.releases import DEFAULT, TESTED, Tested

SEED = 15
MANY, MANY_MORE = 20, 500


@pytest.fixture(scope="module")
def slurm(apart: None) -> Iterator[fuzz_taken.Slurm]:
    with fuzz_taken.slurm() as slurm:
        yield slurm


def test_slurm_accepts_what_check_accepts(slurm: fuzz_taken.Slurm) -> None:
    found = {number: slurm.complaints(cluster) for number, cluster in islice(fuzz_taken.clusters(SEED), MANY)}
    assert not {number: lines for number, lines in found.items() if lines}


@full.only
@pytest.mark.parametrize("version", [DEFAULT, TESTED[-1]])
def test_two_releases_accept_what_check_accepts(apart: None, version: Tested) -> None:
    with fuzz_taken.slurm(version) as slurm:
        some = islice(fuzz_taken.clusters(SEED, version), MANY_MORE)
        found = {number: slurm.complaints(cluster) for number, cluster in some}
    assert not {number: lines for number, lines in found.items() if lines}


@pytest.mark.parametrize(
    ("parameters", "who"),
    [({"MaxTasksPerNode": "0x"}, {"trial", "slurmctld", "slurmd"}), ({"KeepAliveTime": "100"}, {"slurmctld"})],
)
def test_a_refusal_of_slurm_is_found(slurm: fuzz_taken.Slurm, parameters: dict[str, str], who: set[str]) -> None:
    found = slurm.complaints(faulty(next(fuzz_taken.clusters(SEED))[1], parameters))
    assert who <= {line.split(":")[0].split()[0] for line in found}, found


def faulty(cluster: Cluster, parameters: dict[str, str]) -> Cluster:
    """Return a cluster with a fault that check would not accept."""
    return replace(cluster, slurm=cluster.slurm.model_copy(update={"parameters": parameters}))
