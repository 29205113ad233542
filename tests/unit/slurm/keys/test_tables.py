"""The tables of Slurm's keys: each key once, with known releases."""

import pytest

from gpupool.slurm.keys.tables import keys, rows
from gpupool.slurm.releases import KNOWN, RELEASES, number, within

TABLES = ("slurm_conf", "partition", "node", "cgroup", "slurmdbd", "qos", "association", "qos_flag")


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_each_key_once(table: str) -> None:
    assert len(keys(table)) > 10
    assert len(keys(table)) == len(list(rows(table)))


@pytest.mark.parametrize("table", TABLES)
def test_a_key_has_known_releases_and_is_known_to_an_inventory(table: str) -> None:
    for key in keys(table).values():
        assert {key.since, key.before} <= {"", *RELEASES}, key
        assert not key.since or not key.before or number(key.since) < number(key.before), key
        assert any(key.known_in(release) for release in KNOWN), key


@pytest.mark.parametrize("release", RELEASES)
def test_a_changed_key_has_one_effect_in_each_release(release: str) -> None:
    places = []
    for file, section, key, _, since, before, _ in rows("effects"):
        assert {since, before} <= {"", *RELEASES}, key
        if within(release, since, before):
            places.append((file, section, key))
    assert len(places) == len(set(places))


@pytest.mark.parametrize(
    ("table", "key", "knowing"),
    [
        ("slurm_conf", "SlurmctldPlugstack", RELEASES[:3]),
        ("cgroup", "RootOwnedCgroups", ("23.02",)),
        ("slurm_conf", "PreemptParameters", RELEASES[3:]),
        ("cgroup", "ConstrainKmemSpace", RELEASES[:4]),
        ("qos_flag", "Relative", RELEASES[4:]),
        ("slurm_conf", "PowerPlugin", RELEASES[:5]),
        ("partition", "Topology", RELEASES[7:]),
        ("slurm_conf", "ClusterName", RELEASES),
    ],
)
def test_releases_know_the_keys_of_slurms_source(table: str, key: str, knowing: tuple[str, ...]) -> None:
    assert tuple(release for release in RELEASES if keys(table)[key.lower()].known_in(release)) == knowing
