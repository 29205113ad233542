"""The time that the submit plugin sets on jobs without --time, if limits count minutes."""

from pathlib import Path
from typing import Any

import pytest
from submitted import LUAS, PARTITIONS, Plugin, plugin, pool

from gpupool.compile.slurm.submit import job_submit_lua

RED, BLUE = "{name: red, kind: lab, gid: 5001,", "{name: blue, kind: lab, gid: 5002,"
LONG = '{name: long, nodes: "@compute", max_time: 7d,'
DEBUG = '{name: debug, nodes: "@compute", max_time: 4h,'
TOP = "{name: top, kind: department, limits: {group: {gpu: 10}, group_minutes: {cpu: 90000}}}"
NONE = "untyped_gpus: refuse"  # a plugin without any other rule that sets something


def with_limits(**limits: str) -> dict[str, str]:
    return {RED: f"{RED} limits: {limits['red']}," if "red" in limits else RED}


@pytest.fixture(scope="module", params=LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
def minutes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    instead = {
        **with_limits(red="{group_minutes: {gpu: 90000}}"),
        BLUE: f"{BLUE} limits: {{per_job: {{wall: 3h}}, per_user_minutes: {{cpu: 90000}}}},",
        LONG: f"{LONG} default_time: 2h, qos: [short, long, normal],",
    }
    text = job_submit_lua(pool(tmp_path_factory.mktemp("minutes"), NONE, instead=instead))
    assert text is not None
    return Plugin(text, request.param, {**PARTITIONS, "red-only": 10080, "overcap": 2880})


@pytest.mark.parametrize(
    ("asked", "time"),
    [
        ({}, 2880),
        ({"partition": "long"}, 120),
        ({"partition": "long,short"}, 120),
        ({"partition": "debug,long"}, 120),
        ({"partition": "red-only"}, 10080),
        ({"partition": "red-only", "qos": "short"}, 2880),
        ({"partition": "red-only", "default_qos": "short"}, 2880),
        ({"partition": "red-only", "qos": "long,short"}, 2880),
        ({"partition": "debug", "qos": "short"}, 240),
        ({"account": "Red", "partition": "debug"}, 240),
        ({"account": "blue"}, 180),
        ({"account": "blue", "partition": "debug", "default_account": "red"}, 180),
        ({"account": "blue", "qos": "short"}, 2880),
    ],
)
def test_a_job_without_a_time_gets_the_shortest_maximum(minutes: Plugin, asked: dict[str, Any], time: int) -> None:
    assert minutes.submit(**asked).set == {"time_limit": time}


@pytest.mark.parametrize(
    ("asked", "time"),
    [
        ({"partition": "overcap,red-only"}, 10080),
        ({"partition": "overcap,red-only", "default_account": "blue"}, 180),
        ({"partition": "overcap"}, 2880),
        ({"partition": "debug,red-only", "qos": "long"}, 10080),
        ({"partition": "debug,red-only"}, 240),
        ({"partition": "debug", "qos": "long"}, 240),
    ],
)
def test_partitions_that_do_not_admit_a_job_do_not_shorten_it(
    tmp_path_factory: pytest.TempPathFactory, asked: dict[str, Any], time: int
) -> None:
    """Red may not use `overcap`, and `debug` has not the QoS long. Slurm refuses a job that no partition admits."""
    instead = {
        **with_limits(red="{group_minutes: {gpu: 90000}}"),
        BLUE: f"{BLUE} limits: {{per_job: {{wall: 3h}}, per_user_minutes: {{cpu: 90000}}}},",
        DEBUG: f"{DEBUG} qos: [normal],",
    }
    text = job_submit_lua(pool(tmp_path_factory.mktemp("admitted"), NONE, instead=instead))
    assert text is not None
    places = Plugin(text, partitions={**PARTITIONS, "red-only": 10080, "overcap": 2880})
    assert places.submit(**asked).set == {"time_limit": time}


def test_a_partition_that_does_not_admit_a_job_is_not_long_enough_for_its_qos(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Slurm gives the job the wall of its QoS, and then refuses it in `debug`, its only partition that admits it."""
    text = job_submit_lua(pool(tmp_path_factory.mktemp("longer"), NONE))
    assert text is not None
    places = Plugin(text, partitions={**PARTITIONS, "red-only": 10080})
    assert places.submit(partition="debug,red-only", qos="short", account="blue").set == {"time_limit": 240}
    assert places.submit(partition="debug,red-only", qos="short", account="red").set == {}


def test_a_requested_time_is_kept(minutes: Plugin) -> None:
    assert minutes.submit(time_limit=99999).set == {}
    assert minutes.modify({"partition": "long"}, {"partition": "short"}).set == {}


def test_accounts_without_limits_in_minutes_are_not_changed(minutes: Plugin) -> None:
    assert minutes.submit(account="overcap", partition="overcap").set == {}


@pytest.mark.parametrize("short", ["{max_wall: 2d}", "{limits: {per_job: {wall: 2d}}}"])
def test_a_job_with_a_qos_longer_than_its_partition_gets_the_partitions_time(tmp_path: Path, short: str) -> None:
    """Slurm gives it the wall of the QoS, and refuses it: `-p debug --qos=long`."""
    text = job_submit_lua(pool(tmp_path, NONE, instead={"{max_wall: 2d}": short}))
    assert text is not None
    longer = Plugin(text, partitions={**PARTITIONS})
    assert longer.submit(partition="debug", qos="short").set == {"time_limit": 240}
    assert longer.submit(partition="debug", qos="short", time_limit=300).set == {}
    assert longer.submit(partition="debug").set == {}
    assert longer.submit(partition="debug,long", qos="short").set == {}, "Slurm's time of the QoS fits one of them"


def test_a_default_qos_may_be_longer_than_a_partition(tmp_path: Path) -> None:
    longer = plugin(tmp_path, NONE, instead={"{default: true}": "{default: true, max_wall: 1d}"})
    assert longer.submit(partition="debug").set == {"time_limit": PARTITIONS["debug"]}
    assert longer.submit(partition="long").set == {}, "Slurm's time of the QoS fits"


def test_a_partition_without_a_maximum_time_is_left_to_slurm(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("endless")
    text = job_submit_lua(pool(folder, NONE, instead=with_limits(red="{group_minutes: {gpu: 90000}}")))
    assert text is not None
    assert Plugin(text, partitions={"short": 4294967295}).submit().set == {}


@pytest.mark.parametrize("where", ["qos", "partition", "parameters", "the other name", "above"])
def test_limits_in_minutes_are_found_at_every_place(tmp_path_factory: pytest.TempPathFactory, where: str) -> None:
    instead = {
        "qos": {"normal: {default: true}": "normal: {default: true, limits: {group_minutes: {cpu: 90000}}}"},
        "partition": {LONG: f"{LONG} limits: {{group_minutes: {{cpu: 90000}}}},"},
        "parameters": {RED: f"{RED} parameters: {{MaxTRESMins: cpu=90000}},"},
        "the other name": {RED: f"{RED} parameters: {{maxtresminsPerJob: cpu=90000}},"},
        "above": {
            RED: f"{RED} parent: top,",
            "accounts:\n": f"accounts:\n  - {TOP}\n",
        },
    }[where]
    asked = plugin(tmp_path_factory.mktemp(where), NONE, instead=instead)
    assert asked.submit(partition="long").set == {"time_limit": PARTITIONS["long"]}
    assert asked.submit(partition="long", account="blue").set == (
        {} if where in ("parameters", "the other name", "above") else {"time_limit": PARTITIONS["long"]}
    )


def test_a_budget_keeps_the_shorter_time_limit_of_a_qos(tmp_path_factory: pytest.TempPathFactory) -> None:
    """With a budget every partition has a DefaultTime, which also applies to accounts without a budget."""
    asked = plugin(tmp_path_factory.mktemp("budget"), NONE, instead={RED: f"{RED} budget: 90000,"})
    for account in ("red", "blue"):
        assert asked.submit(account=account, partition="long", qos="short").set == {"time_limit": 2880}


def test_without_limits_in_minutes_and_long_qos_slurm_sets_the_time(tmp_path_factory: pytest.TempPathFactory) -> None:
    instead = dict.fromkeys(("{max_wall: 2d}", "{max_wall: 7d}"), "{}")
    text = job_submit_lua(pool(tmp_path_factory.mktemp("none"), NONE, instead=instead))
    assert text is not None
    assert "timed" not in Plugin(text).rules
