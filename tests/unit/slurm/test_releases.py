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
    KNOWN,
    RELEASES,
    SINCE,
    TESTED,
    Ability,
    cgroup_plugin,
    first_tested,
    has,
    namespace_plugin,
    number,
    within,
)

KEY_TABLES = ("slurm_conf", "node", "partition", "cgroup", "slurmdbd", "qos", "association", "qos_flag")


def test_releases_are_in_order_and_include_the_known_and_the_tested_ones() -> None:
    assert sorted(RELEASES, key=number) == list(RELEASES)
    assert sorted(TESTED, key=number) == list(TESTED)
    assert list(KNOWN) == list(RELEASES[-len(KNOWN) :])
    assert set(TESTED) <= set(KNOWN)
    assert all(shipping(release) for release in TESTED)


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


def test_advice_names_a_release_that_tests_run() -> None:
    assert {first_tested(ability) for ability in SINCE} <= set(TESTED)
    assert SINCE["NamespaceType"] not in TESTED
    assert first_tested("NamespaceType") == TESTED[-1]


def test_an_inventory_may_name_the_known_releases() -> None:
    field = Slurm.model_json_schema()["properties"]["version"]
    assert field["enum"] == list(KNOWN)
    assert field["default"] == DEFAULT


def test_the_commented_inventory_names_them_with_their_suites() -> None:
    text = (Path(__file__).parents[3] / "inventory/example/partitions.yml").read_text()
    assert ", ".join(f"{release} ({' or '.join(shipping(release))})" for release in TESTED) in text
