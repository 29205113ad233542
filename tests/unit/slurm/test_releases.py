"""Each release of Slurm has the abilities that it introduced and those of the releases before it."""

from pathlib import Path
from typing import get_args

import pytest
from made_up import after

from gpupool.cluster.schema.scheduling import Slurm
from gpupool.distributions.tables import shipping
from gpupool.slurm.keys.tables import keys, rows
from gpupool.slurm.releases import (
    DEFAULT,
    RELEASES,
    SINCE,
    SUPPORTED,
    Ability,
    cgroup_plugin,
    first_supported,
    has,
    namespace_plugin,
    number,
    takes_over_from,
    within,
)

KEY_TABLES = ("slurm_conf", "node", "partition", "cgroup", "slurmdbd", "qos", "association", "qos_flag")


def test_releases_are_in_order_and_include_the_supported_ones() -> None:
    assert sorted(RELEASES, key=number) == list(RELEASES)
    assert sorted(SUPPORTED, key=number) == list(SUPPORTED)
    assert set(SUPPORTED) <= set(RELEASES)
    assert all(shipping(release) for release in SUPPORTED)


def test_releases_compare_by_year_and_month() -> None:
    assert number("23.11") > number("23.02")
    assert number("100.02") > number("99.11")
    with pytest.raises(ValueError, match="unpack"):
        number("23.11.4")


def test_each_ability_begins_with_a_known_release() -> None:
    assert set(SINCE) == set(get_args(Ability))
    assert set(SINCE.values()) <= set(RELEASES)


@pytest.mark.parametrize("older", RELEASES)
def test_a_release_between_two_has_the_abilities_of_the_older(older: str) -> None:
    made = after(older)
    for ability in SINCE:
        assert has(made, ability) == has(older, ability), ability
    assert cgroup_plugin(made) == cgroup_plugin(older)
    assert namespace_plugin(made) == namespace_plugin(older)


@pytest.mark.parametrize("older", RELEASES)
def test_a_release_between_two_has_the_keys_of_the_older(older: str) -> None:
    made = after(older)
    for table in KEY_TABLES:
        for key in keys(table).values():
            assert key.known_in(made) == key.known_in(older), f"{table}: {key.name}"
    for file, section, key, _, since, before, _ in rows("effects"):
        assert within(made, since, before) == within(older, since, before), f"{file} {section}: {key}"


@pytest.mark.parametrize("ability", get_args(Ability))
def test_an_ability_exists_from_its_release_on(ability: Ability) -> None:
    having = [release for release in RELEASES if has(release, ability)]
    assert having == list(RELEASES[RELEASES.index(SINCE[ability]) :])
    assert not has(RELEASES[0], ability)


@pytest.mark.parametrize(
    ("ability", "table"),
    [("PreemptParameters", "slurm_conf"), ("NamespaceType", "slurm_conf"), ("RestrictedCoresPerGPU", "node"),
     ("SystemdTimeout", "cgroup")],
)  # fmt: skip
def test_an_ability_that_is_a_key_is_as_old_as_the_key(ability: Ability, table: str) -> None:
    assert keys(table)[ability.lower()].since == SINCE[ability]


def test_advice_names_a_release_that_an_inventory_may_have() -> None:
    assert {first_supported(ability) for ability in SINCE} <= set(SUPPORTED)
    assert SINCE["NamespaceType"] not in SUPPORTED
    assert first_supported("NamespaceType") == SUPPORTED[-1]


def test_an_inventory_may_name_the_supported_releases() -> None:
    field = Slurm.model_json_schema()["properties"]["version"]
    assert field["enum"] == list(SUPPORTED)
    assert field["default"] == DEFAULT


def test_the_commented_inventory_names_them_with_their_suites() -> None:
    text = (Path(__file__).parents[3] / "inventory/example/partitions.yml").read_text()
    assert ", ".join(f"{release} ({' or '.join(shipping(release))})" for release in SUPPORTED) in text


# By Slurm's RELEASE_NOTES; from 25.05 on by SLURM_MIN_PROTOCOL_VERSION of its source.
@pytest.mark.parametrize(
    ("release", "older"),
    [
        ("26.05", ("24.11", "25.05", "25.11")),
        ("25.05", ("23.11", "24.05", "24.11")),
        ("24.11", ("23.02", "23.11", "24.05")),
        ("24.05", ("23.02", "23.11")),
        ("23.11", ("22.05", "23.02")),
        ("22.05", ("21.08",)),
        ("21.08", ()),
    ],
)
def test_a_release_upgrades_from_the_releases_before_it(release: str, older: tuple[str, ...]) -> None:
    assert takes_over_from(release) == older


@pytest.mark.parametrize("older", RELEASES)
def test_a_release_between_two_upgrades_from_the_older_too(older: str) -> None:
    made = takes_over_from(after(older))
    assert made[-1] == older
    assert len(made) <= (3 if has(older, "takes over from three releases") else 2)
