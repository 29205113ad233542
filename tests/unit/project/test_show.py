"""The demo's final statements are true."""

import pytest
from show.overcap import ran_before


@pytest.mark.parametrize(
    ("listed", "count"),
    [
        ("1                   \n0                   \n0                   \n1                   \n", 2),
        ("0                   \n", 0),
        ("12                  \n", 1),
        ("", 0),
    ],
)
def test_every_run_after_the_first_is_counted(listed: str, count: int) -> None:
    """Slurm's own evictions are PREEMPTED in sacct and the arbiter's REQUEUED: squeue's RestartCnt counts both."""
    assert ran_before(listed) == count
