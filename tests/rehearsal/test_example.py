"""The example's promises hold, with each Slurm that Debian ships."""

import pytest
from rehearsing import finding_lines, outcomes, tried

from gpupool.rehearsal.twin import cannot
from gpupool.slurm.releases import TESTED, Tested

# two labs with one person each, who lend to all others but not to each other
NOT_MADE = {"least", "owned", "spill", "user-overcap", "labmate", "overcap-first"}


@pytest.mark.parametrize("version", TESTED)
def test_every_promise_of_the_example_is_kept(version: Tested) -> None:
    rehearsal = tried("example", version=version)
    assert not outcomes(rehearsal, "broken"), finding_lines(rehearsal)
    assert outcomes(rehearsal, "not made") == NOT_MADE | set(cannot(version)), finding_lines(rehearsal)
    assert sum(rehearsal.moments[-1].owned.values()) <= 8
    assert {moment.promise for moment in rehearsal.moments} >= outcomes(rehearsal, "kept") - {"lab-partitions", "speed"}
