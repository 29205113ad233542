"""The submit plugin on jobs without GPUs, without --time or without --qos, if partitions have defaults for these."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from submitted import LUAS, REPLACES, Plugin, plugin, pool

from gpupool.compile.slurm.submit import job_submit_lua

LONG = '{name: long, nodes: "@compute", max_time: 7d,'
DEBUG = '{name: debug, nodes: "@compute", max_time: 4h,'
PLACES = {LONG: f"{LONG} without_gpu: short,", DEBUG: f"{DEBUG} without_gpu: refuse,"}
TIMES = {LONG: f"{LONG} default_time: 1h,", DEBUG: f"{DEBUG} default_time: 30m,"}
GPU = {"tres_per_node": "gres/gpu:1"}


@pytest.fixture(scope="module", params=LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return plugin(tmp_path_factory.mktemp("places"), luas=request.param, instead=PLACES)


@pytest.fixture(scope="module", params=LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
def times(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return plugin(tmp_path_factory.mktemp("times"), luas=request.param, instead=TIMES, replaces=REPLACES)


@pytest.mark.parametrize(
    ("asked", "becomes"),
    [
        ("long", "short"),
        ("short,long", "short"),
        ("long,short", "short"),
        ("debug,short", "short"),
        ("debug,long", "short"),
    ],
)
def test_a_job_without_gpus_is_sent_to_its_partition(places: Plugin, asked: str, becomes: str) -> None:
    assert places.submit(partition=asked).set == {"partition": becomes}
    assert places.submit(partition=asked, tres_per_job="gres/gpu:0").set == {"partition": becomes}


def test_a_job_without_gpus_is_refused_in_partitions_for_gpus(places: Plugin) -> None:
    answer = places.submit(partition="debug")
    assert (answer.accepted, answer.set) == (False, {})
    assert answer.told[0].startswith("Partition debug is for jobs with GPUs: request one, such as --gpus=1")


@pytest.mark.parametrize("where", ["debug", "long", "debug,long", "short"])
@pytest.mark.parametrize("way", ["tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket"])
def test_a_job_with_gpus_keeps_its_partition(places: Plugin, where: str, way: str) -> None:
    answer = places.submit(partition=where, **{way: "gres/gpu:a40:2"})
    assert (answer.accepted, answer.set, answer.logged) == (True, {}, [])


@pytest.mark.parametrize(
    ("change", "record"),
    [
        ({"tres_per_node": ""}, {"partition": "long", **GPU}),
        ({"tres_per_node": "gres/gpu:0"}, {"partition": "debug", **GPU}),
        ({"partition": "debug"}, {"partition": "short"}),
        ({"partition": "short,long"}, {"partition": "short"}),
    ],
)
def test_no_change_moves_a_job_without_gpus_there(
    places: Plugin, change: dict[str, Any], record: dict[str, Any]
) -> None:
    assert not places.modify(change, record).accepted
    assert places.modify(change, record, uid=0).accepted, "root may"
    assert places.modify({"partition": "debug"}, {"partition": "short", **GPU}).accepted


@pytest.mark.parametrize(("where", "minutes"), [("long", 60), ("debug", 30), ("long,debug", 30), ("short", 2880)])
def test_a_qos_that_replaces_another_keeps_the_default_time(times: Plugin, where: str, minutes: int) -> None:
    answer = times.submit(partition=where, qos="short")
    assert answer.set == {"qos": "limited", "time_limit": minutes}
    assert times.submit(partition=where).set == {}, "slurmctld gives it itself"


DEFAULT_QOS = {"name: long, nodes": "name: long, default_qos: long, nodes"}


@pytest.mark.parametrize(
    ("asked", "qos"),
    [
        ({"partition": "long"}, "long"),
        ({"partition": "long,short"}, "long"),
        ({"partition": "short,long"}, None),
        ({"partition": "short"}, None),
        ({}, None),
        ({"partition": "long", "qos": "normal"}, None),
        ({"partition": "long", "default_account": "red"}, None),
        ({"partition": "long", "account": "RED"}, None),
    ],
    ids=str,
)
@pytest.mark.parametrize("lua", LUAS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_job_without_a_qos_gets_its_partitions(
    tmp_path: Path, lua: ModuleType, asked: dict[str, Any], qos: str | None
) -> None:
    """The account red has another default QoS."""
    answer = plugin(tmp_path, luas=lua, instead=DEFAULT_QOS).submit(**{"default_account": "blue", **asked})
    assert (answer.accepted, answer.set.get("qos"), answer.logged) == (True, qos, [])


@pytest.mark.parametrize(
    ("admits", "account", "qos"),
    [
        ("deny_accounts: [overcap]", "overcap", None),
        ("deny_accounts: [overcap]", "Blue", "long"),
        ("allow_accounts: [blue]", "overcap", None),
        ("allow_accounts: [blue]", "blue", "long"),
    ],
)
def test_accounts_that_the_partition_does_not_admit_read_about_the_partition(
    tmp_path: Path, admits: str, account: str, qos: str | None
) -> None:
    """With the partition's QoS, slurmctld answered "Invalid qos specification" first."""
    long = 'long, nodes: "@compute", max_time: 7d, tier: 10, deny_accounts: [overcap]'
    partition = {f"name: {long}": f"name: {long.replace('deny_accounts: [overcap]', admits)}, default_qos: long"}
    answer = plugin(tmp_path, instead=partition).submit(partition="long", account=account)
    assert answer.set.get("qos") == qos


def test_a_job_without_a_partition_gets_the_qos_of_the_default_one(tmp_path: Path) -> None:
    text = job_submit_lua(pool(tmp_path, where="long", instead=DEFAULT_QOS))
    assert text is not None
    assert Plugin(text, LUAS[0], {"long": 10080, "short": 2880}).submit(default_account="blue").set == {"qos": "long"}


def test_a_job_that_is_moved_keeps_its_qos(tmp_path: Path) -> None:
    asked = plugin(tmp_path, instead=DEFAULT_QOS)
    assert asked.modify({"partition": "long"}, {"partition": "short", "default_account": "blue"}).set == {}
