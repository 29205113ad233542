"""Four clusters whose labs have few promises: those are kept, and the others are not tested."""

import pytest
from rehearsing import finding_lines, outcomes, tried

PROMISED = {
    "aau-ai-cloud": {"per-user", "timeout", "walls"},
    "arandu": {"timeout"},
    "gcp-slurm": {"timeout"},
    "santos-dumont": {"timeout", "walls"},
}


@pytest.mark.parametrize("name", PROMISED)
def test_the_promises_of_a_cluster_are_kept_and_the_others_are_not_tested(name: str) -> None:
    rehearsal = tried(name)
    assert not outcomes(rehearsal, "broken", "void"), finding_lines(rehearsal)
    assert outcomes(rehearsal, "kept") == PROMISED[name]
    assert all(finding.tried == "nothing" for finding in rehearsal.findings if finding.outcome == "not made")
