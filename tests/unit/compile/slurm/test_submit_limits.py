"""The submit plugin on jobs in several partitions, of which some refuse them by their limits."""

from pathlib import Path
from typing import Any

import pytest
from submitted import LUAS, REPLACES, Plugin, plugin

LONG = '{name: long, nodes: "@compute", max_time: 7d,'
DEBUG = '{name: debug, nodes: "@compute", max_time: 4h,'
NORMAL = "normal: {default: true"
MOST = "per_user: {cpu: 128, mem: 64G}, group: {nodes: 4}, per_job: {gpu: 6, wall: 7d}"
PLACES = {
    LONG: f"{LONG} limits: {{{MOST}}},",
    DEBUG: f"{DEBUG} limits: {{per_job_least: {{gpu: 2}}}},",
}
LIFTED = {LONG: f"{LONG} lift: [per_user],", NORMAL: f"{NORMAL}, limits: {{per_user: {{cpu: 128}}}}"}
GPUS = {"tres_per_job": "gres/gpu:2"}


@pytest.fixture(scope="module", params=LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return plugin(tmp_path_factory.mktemp("places"), luas=request.param, instead=PLACES)


@pytest.mark.parametrize(
    "above",
    [
        {"num_tasks": 129},
        {"cpus_per_task": 129},
        {"num_tasks": 65, "cpus_per_task": 2},
        {"num_tasks": 2, "min_nodes": 2, "pn_min_cpus": 65},
        {"tres_per_job": "gres/gpu:2", "cpus_per_tres": "gres/gpu:65"},
        {"min_nodes": 5},
        {"tres_per_job": "gres/gpu:7"},
        {"tres_per_node": "gres/gpu:4", "min_nodes": 2},
        {"min_mem_per_node": 65537},
        {"min_mem_per_cpu": 1024, "num_tasks": 65},
        {"tres_per_job": "gres/gpu:2", "mem_per_tres": "gres/gpu:40000"},
        {"time_limit": 10081},
    ],
    ids=str,
)
def test_a_job_above_the_limits_of_a_partition_leaves_it(places: Plugin, above: dict[str, Any]) -> None:
    for asked in ("long,short", "short,long"):
        answer = places.submit(partition=asked, **above)
        assert (answer.accepted, answer.set, answer.logged) == (True, {"partition": "short"}, [])
        assert answer.told == ["The limits of long refuse this job: it is only in short."]


@pytest.mark.parametrize(
    "within",
    [
        {},
        {"num_tasks": 128, "min_nodes": 4, "time_limit": 10080},
        {"num_tasks": 1000, "min_cpus": 1},
        {"tres_per_job": "gres/gpu:2080_ti:6"},
        {"tres_per_job": "gres/gpu:6", "min_mem_per_node": 65536},
        {"tres_per_job": "gres/gpu:2", "cpus_per_tres": "gres/gpu:64"},
    ],
    ids=str,
)
def test_a_job_within_the_limits_keeps_its_partitions(places: Plugin, within: dict[str, Any]) -> None:
    """The third has --overcommit: its tasks share a CPU."""
    answer = places.submit(partition="long,short", **within)
    assert (answer.accepted, answer.told, answer.set) == (True, [], {})


@pytest.mark.parametrize(
    ("asked", "becomes"),
    [
        ({}, "short"),
        ({"tres_per_job": "gres/gpu:1"}, "short"),
        ({"tres_per_socket": "gres/gpu:1"}, None),
        (GPUS, None),
        ({"tres_per_node": "gres/gpu:a40:1", "min_nodes": 2}, None),
        ({"num_tasks": 2, "tres_per_task": "gres/gpu:1"}, None),
    ],
    ids=str,
)
def test_a_job_with_too_few_gpus_leaves_the_partition(
    places: Plugin, asked: dict[str, Any], becomes: str | None
) -> None:
    """Slurm may count two GPUs for --gpus-per-socket=1."""
    assert places.submit(partition="debug,short", **asked).set.get("partition") == becomes


@pytest.mark.parametrize(
    ("asked", "becomes"),
    [
        ({}, None),
        ({"min_mem_per_node": 65535}, "short"),
        ({"min_mem_per_node": 65536}, None),
        ({"min_mem_per_node": 32768, "min_nodes": 2}, None),
        ({"min_mem_per_cpu": 1024, "num_tasks": 32}, "short"),
    ],
    ids=str,
)
def test_a_job_with_too_little_memory_leaves_the_partition(
    tmp_path: Path, asked: dict[str, Any], becomes: str | None
) -> None:
    """Slurm counts its default for a job without a request for memory."""
    large = plugin(tmp_path, instead={DEBUG: f"{DEBUG} limits: {{per_job_least: {{mem: 64G}}}},"})
    assert large.submit(partition="debug,short", **asked).set.get("partition") == becomes


def test_slurm_refuses_a_job_that_all_its_partitions_refuse(places: Plugin) -> None:
    for asked in ("long", "debug,long"):
        answer = places.submit(partition=asked, num_tasks=129)
        assert (answer.accepted, answer.told, answer.set) == (True, [], {})


def test_a_job_that_is_moved_leaves_it_too(places: Plugin) -> None:
    record = {"partition": "short", "num_tasks": 129, "min_cpus": 129}
    assert places.modify({"partition": "short,long"}, record).set == {"partition": "short"}
    assert places.modify({"partition": "short,long"}, {**record, "num_tasks": 1, "min_cpus": 1}).set == {}
    assert places.modify({"partition": "short,long"}, record, uid=0).set == {}, "root may"


@pytest.mark.parametrize(
    ("asked", "becomes"),
    [({}, "long"), ({"qos": "normal"}, "long"), ({"qos": "NORMAL"}, "long"), ({"qos": "long"}, None)],
    ids=str,
)
def test_limits_of_a_qos_count_where_no_partition_lifts_them(
    tmp_path: Path, asked: dict[str, Any], becomes: str | None
) -> None:
    lifted = plugin(tmp_path, instead=LIFTED)
    assert lifted.submit(partition="short,long", num_tasks=129, **asked).set.get("partition") == becomes
    assert lifted.submit(partition="short,long", num_tasks=128, **asked).set == {}


def test_a_partition_that_lifts_a_limit_of_the_qos_refuses_by_its_own(tmp_path: Path) -> None:
    own = plugin(tmp_path, instead={**LIFTED, LONG: f"{LIFTED[LONG]} limits: {{per_user: {{gpu: 2}}}},"})
    assert own.submit(partition="short,long", tres_per_job="gres/gpu:3").set.get("partition") == "short"
    assert own.submit(partition="short,long", num_tasks=129).set.get("partition") == "long"


def test_a_limit_on_a_type_counts_gpus_of_that_type(tmp_path: Path) -> None:
    typed = plugin(
        tmp_path, "untyped_gpus: refuse", instead={LONG: f"{LONG} limits: {{per_user: {{gpus: {{a40: 4}}}}}},"}
    )
    assert typed.submit(partition="long,short", tres_per_job="gres/gpu:a40:5").set == {"partition": "short"}
    assert typed.submit(partition="long,short", tres_per_job="gres/gpu:a40:4").set == {}
    assert typed.submit(partition="long,short", tres_per_job="gres/gpu:h100:8").set == {}


def test_a_qos_may_be_over_its_partition(tmp_path: Path) -> None:
    over = {**LIFTED, NORMAL: f"{LIFTED[NORMAL]}, parameters: {{Flags: OverPartQOS}}"}
    assert plugin(tmp_path, instead=over).submit(partition="short,long", num_tasks=129).set == {}, "Slurm refuses both"


@pytest.mark.parametrize(("asked", "becomes"), [({}, "long"), ({"account": "red"}, None)], ids=str)
def test_limits_of_the_qos_that_replaces_another_count(
    tmp_path: Path, asked: dict[str, Any], becomes: str | None
) -> None:
    """The account red has the QoS `limited`, which has no limit on CPUs."""
    replacing = plugin(tmp_path, replaces=REPLACES, instead=LIFTED)
    fields = {"default_account": "blue", **asked}
    assert replacing.submit(partition="short,long", num_tasks=129, **fields).set.get("partition") == becomes


RED_GROUP = "{name: red, kind: lab, gid: 5001, contributed_gpus: 10"
TOP = "{name: top, kind: department, limits: {per_job: {cpu: 4}, group: {gpu: 10, nodes: 2}}}"
FREE = f"{LONG} limits: {{per_job: {{cpu: 200, wall: 7d}}}},"


@pytest.mark.parametrize(
    ("limits", "above", "within"),
    [
        ("per_job: {cpu: 4}", {"num_tasks": 5}, {"num_tasks": 4}),
        ("per_job: {wall: 1h}", {"time_limit": 61}, {"time_limit": 60}),
    ],
)
def test_limits_of_an_account_count_where_no_partition_replaces_them(
    tmp_path: Path, limits: str, above: dict[str, Any], within: dict[str, Any]
) -> None:
    """Slurm refuses a job for one of its partitions, here `short`, which has no limits."""
    own = plugin(tmp_path, instead={LONG: FREE, RED_GROUP: f"{RED_GROUP}, limits: {{{limits}}}"})
    for asked in ("short,long", "long,short"):
        assert own.submit(partition=asked, **above).set == {"partition": "long"}
        assert own.submit(partition=asked, **within).set == {}
        assert own.submit(partition=asked, account="blue", **above).set == {}


@pytest.mark.parametrize(("limits", "most"), [("", 2), (", limits: {per_user: {nodes: 1}}", 1)])
def test_group_limits_refuse_where_only_one_partition_refuses(tmp_path: Path, limits: str, most: int) -> None:
    """In `short` alone, a job above the limits waits."""
    waiting = {NORMAL: f"{NORMAL}, over_limit: wait", "accounts:\n": f"accounts:\n  - {TOP}\n"}
    own = plugin(tmp_path, instead={LONG: FREE, **waiting, RED_GROUP: f"{RED_GROUP}, parent: top{limits}"})
    assert own.submit(partition="short,long", min_nodes=most + 1).set == {"partition": "short"}
    assert own.submit(partition="short,long", min_nodes=most).set == {}


def test_the_nearest_limit_per_job_of_an_account_counts(tmp_path: Path) -> None:
    top = {RED_GROUP: f"{RED_GROUP}, parent: top", "accounts:\n": f"accounts:\n  - {TOP}\n"}
    assert plugin(tmp_path, instead={LONG: FREE, **top}).submit(partition="short,long", num_tasks=5).set == {
        "partition": "long"
    }
    nearer = plugin(
        tmp_path, instead={LONG: FREE, **top, RED_GROUP: f"{top[RED_GROUP]}, limits: {{per_job: {{cpu: 64}}}}"}
    )
    assert nearer.submit(partition="short,long", num_tasks=64).set == {}


DEFAULT = {
    LONG: f"{LONG} default_qos: long, limits: {{per_job_least: {{gpu: 2}}}},",
    "long: {max_wall: 7d}": "long: {max_wall: 7d, limits: {per_job: {cpu: 4}}}",
}


@pytest.mark.parametrize(
    ("asked", "becomes"),
    [
        ({"partition": "short,long", "num_tasks": 8, **GPUS}, {}),
        ({"partition": "long,short", "num_tasks": 8, **GPUS}, {"partition": "short"}),
        ({"partition": "long,short", "num_tasks": 4, **GPUS}, {"qos": "long"}),
        ({"partition": "long,short", "num_tasks": 4}, {"partition": "short"}),
        ({"partition": "long,short", "num_tasks": 8, "qos": "long", **GPUS}, {}),
        ({"partition": "debug,long,short", "num_tasks": 8}, {"partition": "debug,short"}),
    ],
    ids=str,
)
def test_a_job_has_the_qos_of_the_first_partition_whose_limits_take_it(
    tmp_path: Path, asked: dict[str, Any], becomes: dict[str, Any]
) -> None:
    places = plugin(tmp_path, instead=DEFAULT)
    assert places.submit(default_account="blue", **asked).set == becomes


def test_a_default_qos_refuses_in_its_partition_alone(tmp_path: Path) -> None:
    """The partitions have no limits, but the QoS of one of them does."""
    long = {LONG: f"{LONG} default_qos: long,", "long: {max_wall: 7d}": DEFAULT["long: {max_wall: 7d}"]}
    places = plugin(tmp_path, instead=long)
    assert places.submit(default_account="blue", partition="long,short", num_tasks=5).set == {"partition": "short"}


@pytest.mark.parametrize(
    ("scheduler", "instead"),
    [
        ("", {}),
        ("enforce_limits: all", PLACES),
        ("over_limit: wait", PLACES),
        ("over_limit: wait", {**PLACES, NORMAL: f"{NORMAL}, over_limit: wait"}),
    ],
)
def test_no_job_leaves_a_partition_in_which_slurm_lets_it_wait(
    tmp_path: Path, scheduler: str, instead: dict[str, str]
) -> None:
    asked = plugin(tmp_path, scheduler, instead=instead)
    assert "partition_limits" not in asked.rules
    assert asked.submit(partition="long,short", num_tasks=129).set == {}


def test_a_qos_alone_may_refuse(tmp_path: Path) -> None:
    refusing = {**PLACES, NORMAL: f"{NORMAL}, over_limit: refuse"}
    asked = plugin(tmp_path, "over_limit: wait", instead=refusing)
    assert asked.submit(partition="long,short", num_tasks=129).set == {"partition": "short"}
    assert asked.submit(partition="long,short", num_tasks=129, qos="long").set == {}
