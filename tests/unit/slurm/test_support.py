"""SchedMD's support of a release lasts until the end of its last month."""

from datetime import date

from gpupool.slurm.releases import KNOWN, number
from gpupool.slurm.support import UNTIL, has_ended


def test_every_known_release_has_a_month_after_its_own() -> None:
    assert tuple(UNTIL) == KNOWN
    assert all((2000 + number(release)[0], number(release)[1]) < UNTIL[release] for release in KNOWN)
    assert sorted(UNTIL.values()) == list(UNTIL.values())


def test_support_ends_with_its_last_month() -> None:
    assert not has_ended("24.11", date(2026, 5, 31))
    assert has_ended("24.11", date(2026, 6, 1))
    assert not has_ended("26.05", date(2027, 1, 1))
