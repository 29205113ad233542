"""From which releases a Slurm takes over, as its RELEASE_NOTES say."""

import pytest

from gpupool.cluster.slurm_versions import takes_over_from


@pytest.mark.parametrize(
    ("version", "olds"),
    [
        ("26.05", ("24.11", "25.05", "25.11")),
        ("24.11", ("23.02", "23.11", "24.05")),
        ("24.05", ("23.02", "23.11")),
        ("22.05", ("21.08",)),
    ],
)
def test_the_releases_before_it(version: str, olds: tuple[str, ...]) -> None:
    assert takes_over_from(version) == olds
