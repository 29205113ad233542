"""The steps of upgrades are those of Slurm's sources, and a long way has hops that Slurm allows."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from gpupool.slurm.releases import KNOWN
from gpupool.slurm.upgrades import READS_FROM, hops, takes_over_from


# By SLURM_MIN_PROTOCOL_VERSION of each release, which script/slurm-keys compares, and upgrades.shtml.
@pytest.mark.parametrize(
    ("release", "older"),
    [
        ("26.05", ("24.11", "25.05", "25.11")),
        ("25.11", ("24.05", "24.11", "25.05")),
        ("25.05", ("23.11", "24.05", "24.11")),
        ("24.11", ("23.02", "23.11", "24.05")),
        ("24.05", ("23.02", "23.11")),
        ("23.11", ("22.05", "23.02")),
        ("23.02", ("21.08", "22.05")),
        ("22.05", ("20.11", "21.08")),
    ],
)
def test_a_release_upgrades_from_the_releases_that_it_reads(release: str, older: tuple[str, ...]) -> None:
    assert takes_over_from(release) == older


def test_every_known_release_has_a_row() -> None:
    assert tuple(READS_FROM) == KNOWN


@pytest.mark.parametrize(("old", "new"), list(combinations(KNOWN, 2)))
def test_each_pair_of_releases_has_a_way_of_steps_that_slurm_allows(old: str, new: str) -> None:
    way = hops(old, new)
    assert way[-1] == new
    assert all(before in takes_over_from(after) for before, after in pairwise((old, *way)))
    assert (len(way) == 1) == (old in takes_over_from(new))
    assert hops(new, old) == ()


@pytest.mark.parametrize(
    ("old", "new", "way"),
    [
        ("22.05", "24.11", ("23.11", "24.11")),
        # not by 25.05, which is as short: tests run 24.11
        ("22.05", "26.05", ("23.11", "24.11", "26.05")),
        ("20.11", "24.11", ("22.05", "23.11", "24.11")),
        ("24.11", "26.05", ("26.05",)),
        ("19.05", "26.05", ()),
        ("24.11", "24.11", ()),
    ],
)
def test_a_way_is_short_and_keeps_to_tested_releases(old: str, new: str, way: tuple[str, ...]) -> None:
    assert hops(old, new) == way


def test_the_page_lists_all_pairs_with_releases_in_between() -> None:
    page = (Path(__file__).parents[3] / "docs/upgrade.md").read_text()
    rows = re.findall(r"(?m)^\| (\d\d\.\d\d) \| ([\d., ]+) \| ([\d., ]+) \|$", page)
    listed = {(old, new): (*by.split(", "), new) for old, targets, by in rows for new in targets.split(", ")}
    assert listed == {pair: way for pair in combinations(KNOWN, 2) if len(way := hops(*pair)) > 1}
