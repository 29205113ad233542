"""Releases of Slurm that do not exist."""

from gpupool.slurm.releases import RELEASES, number


def after(release: str) -> str:
    """Return a made-up release one month after a known one, older than the next known one."""
    year, month = number(release)
    made = f"{year}.{month + 1:02}"
    assert made not in RELEASES
    assert all(number(made) < number(known) for known in RELEASES if number(known) > number(release))
    return made
