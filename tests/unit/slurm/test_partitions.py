"""Accounts that a partition admits."""

import pytest

from gpupool.slurm.partitions import admits


@pytest.mark.parametrize(
    ("line", "allowed", "denied", "admitted"),
    [
        (("red",), (), (), True),
        (("red",), ("red",), (), True),
        (("red",), ("blue",), (), False),
        (("red", "root"), ("root",), (), True),
        (("red",), (), ("red",), False),
        (("red", "root"), (), ("root",), False),
        (("red",), (), ("blue",), True),
        # by slurmctld's rule, DenyAccounts has no effect beside AllowAccounts
        (("red",), ("red",), ("red",), True),
        ((), ("red",), (), False),
        ((), (), ("red",), True),
    ],
)
def test_allowed_accounts_count_before_denied_ones(
    line: tuple[str, ...], allowed: tuple[str, ...], denied: tuple[str, ...], admitted: bool
) -> None:
    assert admits(line, allowed, denied) is admitted
