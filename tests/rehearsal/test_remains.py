"""The look at the parts of a running cluster, beside the real database and state of each tested release of Slurm."""

from pathlib import Path

import pytest
from inventories import SMALL, copied

from gpupool.cluster.load import load
from gpupool.compile.slurm.heart import heart_of
from gpupool.facts.remains import LOOK, arguments, read
from gpupool.facts.script import ask
from gpupool.operations.remains import is_known, mismatches
from gpupool.rehearsal.twin import Twin, of_version
from gpupool.slurm.releases import TESTED, Tested


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("version", TESTED)
def test_the_database_and_the_state_of_a_cluster_fit_together(version: Tested, tmp_path: Path) -> None:
    cluster = of_version(load(copied(SMALL, tmp_path / "small")), version)
    heart = heart_of(cluster)
    with Twin.start(cluster) as twin:
        look = ask(LOOK, *arguments(cluster.name, heart.state, database=True))
        there = read(twin.run(str(look)).out.splitlines())
    assert (there.name, there.tables) == ("small", True)
    answers = dict.fromkeys((*heart.controllers, heart.database), there)
    assert (is_known(heart, answers), mismatches(heart, answers)) == (True, []), there
