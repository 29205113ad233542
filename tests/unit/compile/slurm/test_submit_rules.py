"""The submit plugin's rules on GPUs, CPUs and memory, for every form of request in Slurm 22.05 and 24.11."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from submitted import (
    ALL,
    AT_SUBMIT,
    LUAS,
    MEMORY,
    NO_VAL,
    NO_VAL16,
    PARTITIONS,
    REPLACES,
    SPREAD,
    UNSET,
    Plugin,
    plugin,
    pool,
)

from gpupool.compile.slurm.submit import job_submit_lua

GIB = 1024
NICE_OF_0 = 0x80000000
A40 = {"tres_per_node": "gres/gpu:a40:1"}


@pytest.fixture(scope="module", params=LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
def everything(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return plugin(tmp_path_factory.mktemp("pool"), ALL, request.param, replaces=REPLACES)


# GPU types

WITHOUT_TYPE: list[dict[str, Any]] = [
    {"tres_per_node": "gres/gpu:1"},  # --gres=gpu:1
    {"tres_per_node": "gres:gpu:1"},  # the same in 22.05
    {"tres_per_node": "gpu"},
    {"tres_per_job": "gres/gpu:2"},  # --gpus
    {"tres_per_task": "cpu=7,gres/gpu=1"},  # --gpus-per-task with -c
    {"tres_per_socket": "gres/gpu:1"},
    {"tres_per_node": "gres/gpu:a40:1,gres/gpu:1"},
]
ONE_TYPE = {
    f'{{name: {name}, nodes: "@compute"': f'{{name: {name}, nodes: "@gpu:{gpu}"'
    for name, gpu in (("long", "a40"), ("debug", "a40"), ("red-only", "2080_ti"))
}
WITH_TYPE: list[dict[str, Any]] = [
    A40,
    {"tres_per_node": "gres:gpu:2080_ti:2"},
    {"tres_per_node": "gres/gpu:2080_ti"},
    {"tres_per_job": "gres/gpu:a40:2,gres/gpu:2080_ti:1"},
    {"tres_per_task": "cpu=7,gres/gpu:a40=1"},
    {"tres_per_node": "gres/gpu:0"},
    {"tres_per_node": "gres/gpumem:5,gres/shard:1"},
    {"tres_per_node": "gres/gpu-vram:5"},
    {},
]


@pytest.mark.parametrize("asked", WITHOUT_TYPE, ids=str)
def test_gpus_without_a_type_are_refused(everything: Plugin, asked: dict[str, Any]) -> None:
    for answer in (everything.submit(**asked), everything.modify(asked, {})):
        assert not answer.accepted
        # the types that some node has: no node has the h100 of the inventory
        assert answer.told == ["Specify the GPU type, such as --gpus=a40:1. Types: a40, 2080_ti."]


@pytest.mark.parametrize("asked", WITH_TYPE, ids=str)
def test_gpus_with_a_type_are_accepted(everything: Plugin, asked: dict[str, Any]) -> None:
    assert everything.submit(**asked).accepted
    assert everything.modify(asked, {"tres_per_job": "gres/gpu:1"}).accepted is (asked == {} or "tres_per_job" in asked)


@pytest.mark.parametrize(
    ("asked", "gets"),
    [
        ({"tres_per_node": "gres/gpu:1"}, {"tres_per_node": "gres/gpu:a40:1"}),
        ({"tres_per_node": "gres:gpu:1"}, {"tres_per_node": "gres:gpu:a40:1"}),
        ({"tres_per_node": "gpu"}, {"tres_per_node": "gpu:a40"}),
        ({"tres_per_job": "gres/gpu"}, {"tres_per_job": "gres/gpu:a40"}),
        ({"tres_per_task": "cpu=7,gres/gpu=1"}, {"tres_per_task": "cpu=7,gres/gpu:a40=1"}),
        ({"tres_per_socket": "gres/gpumem:5,gres/gpu:2"}, {"tres_per_socket": "gres/gpumem:5,gres/gpu:a40:2"}),
        (
            {"tres_per_job": "gres/gpu:2", "tres_per_node": "gres/gpu:1"},
            {"tres_per_job": "gres/gpu:a40:2", "tres_per_node": "gres/gpu:a40:1"},
        ),
        (A40, {}),
        ({"tres_per_node": "gres/gpu:0"}, {}),
        ({}, {}),
    ],
    ids=str,
)
def test_in_partitions_with_one_type_a_job_gets_it(tmp_path: Path, asked: dict[str, Any], gets: dict[str, Any]) -> None:
    asks = plugin(tmp_path, "untyped_gpus: refuse", instead=ONE_TYPE)
    for partition in ("long", "debug", "long,debug"):
        answer = asks.submit(partition=partition, **asked)
        assert answer.accepted
        assert answer.set == gets


@pytest.mark.parametrize(
    ("partition", "asked"),
    [
        (None, "gres/gpu:1"),  # the default partition has both types
        ("short", "gres/gpu:1"),
        ("short,long", "gres/gpu:1"),
        ("long,red-only", "gres/gpu:1"),  # one type each
        ("long", "gres/gpu:a40:1,gres/gpu:1"),
    ],
)
def test_elsewhere_it_must_name_a_type(tmp_path: Path, partition: str | None, asked: str) -> None:
    asks = plugin(tmp_path, "untyped_gpus: refuse", instead=ONE_TYPE)
    answer = asks.submit(partition=partition, tres_per_node=asked)
    assert (answer.accepted, answer.set, len(answer.told)) == (False, {}, 1)
    assert not asks.modify({"tres_per_node": "gres/gpu:1"}, {"partition": "long"}).accepted


# CPUs for each GPU


@pytest.mark.promise("SKY-142")
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tres_per_node": "gres/gpu:2080_ti:1", "cpus_per_task": 7, "min_cpus": 7}, None),
        ({"tres_per_node": "gres/gpu:2080_ti:1", "cpus_per_task": 8, "min_cpus": 8}, "8 CPUs per GPU"),
        ({"tres_per_node": "gres/gpu:a40:1", "cpus_per_task": 15}, None),
        ({"tres_per_node": "gres/gpu:a40:1", "cpus_per_task": 16}, "16 CPUs per GPU, but at most 15 are recommended"),
        ({"tres_per_job": "gres:gpu:2080_ti:2", "cpus_per_tres": "gres:gpu:8"}, "8 CPUs per GPU"),
        ({"tres_per_task": "cpu=8,gres/gpu:2080_ti=1", "cpus_per_task": 8, "num_tasks": 2}, "8 CPUs per GPU"),
        ({"tres_per_task": "cpu=30,gres/gpu:a40=2", "cpus_per_task": 30, "num_tasks": 1}, None),
        ({"tres_per_node": "gres/gpu:2080_ti:2", "ntasks_per_node": 2, "cpus_per_task": 7, "min_nodes": 2}, None),
        ({"tres_per_node": "gres/gpu:2080_ti:2", "ntasks_per_node": 4, "cpus_per_task": 7}, "14 CPUs per GPU"),
        ({"tres_per_job": "gres/gpu:a40:2", "ntasks_per_tres": 2, "cpus_per_task": 8}, "16 CPUs per GPU"),
        ({"tres_per_job": "gres/gpu:a40:1,gres/gpu:2080_ti:1", "min_cpus": 22}, None),
        (
            {"tres_per_job": "gres/gpu:a40:1,gres/gpu:2080_ti:1", "min_cpus": 23},
            "11.5 CPUs per GPU, but at most 11 are recommended",
        ),
        ({"tres_per_node": "gres/gpu:2080_ti:1", "cpus_per_task": 56, "shared": 0}, None),  # --exclusive
        ({"cpus_per_task": 40, "min_cpus": 40}, None),
    ],
    ids=str,
)
def test_a_job_that_leaves_gpus_without_cpus_is_accepted_with_a_message(
    everything: Plugin, asked: dict[str, Any], message: str | None
) -> None:
    answer = everything.submit(**asked)
    assert answer.accepted
    assert answer.told == [] if message is None else answer.told[0].startswith(message)


@pytest.mark.promise("SKY-142")
@pytest.mark.parametrize(
    ("constraint", "warned"), [("a40", False), ("2080_ti", True), ("a40|2080_ti", False), (None, True)]
)
def test_a_constraint_names_the_type_too(tmp_path: Path, constraint: str | None, warned: bool) -> None:
    untyped = plugin(tmp_path, "warn_cpus_per_gpu: {default: 7, a40: 15}")
    assert bool(untyped.submit(tres_per_node="gres/gpu:1", cpus_per_task=15, features=constraint).told) is warned


# Memory


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({}, {"min_mem_per_cpu": 1024}),
        ({"cpus_per_task": 4}, {"min_mem_per_cpu": 1024}),
        ({"min_mem_per_node": 5 * GIB, "min_cpus": 2}, {}),
        ({"min_mem_per_cpu": 2 * GIB}, {}),
        ({"shared": 0}, {}),
        (A40, {"mem_per_tres": "gres/gpu:30720"}),
        ({**A40, "shared": 0}, {"mem_per_tres": "gres/gpu:30720"}),
        ({"tres_per_node": "gres:gpu:a40:1"}, {"mem_per_tres": "gres:gpu:30720"}),
        ({"tres_per_task": "cpu=7,gres/gpu:a40=1"}, {"mem_per_tres": "gres/gpu:30720"}),
        *(({**A40, field: 2 * GIB}, {}) for field in ("min_mem_per_node", "min_mem_per_cpu")),
        ({**A40, "mem_per_tres": "gres/gpu:2048"}, {}),
    ],
    ids=str,
)
def test_a_job_without_a_memory_request_gets_the_default(
    everything: Plugin, asked: dict[str, Any], given: dict[str, Any]
) -> None:
    assert everything.submit(**asked).set == given


BY_TYPE = """default_memory: {per_gpu: {a40: 40G, default: 10G}, per_cpu: 1G},
  max_memory: {per_gpu: {a40: 45G, default: 20G}, per_cpu: 4G}"""


@pytest.mark.parametrize(
    ("asked", "default", "most"),
    [
        ({"tres_per_job": "gres/gpu:a40:2"}, 40, 45),
        ({"tres_per_job": "gres/gpu:2080_ti:2"}, 10, 20),
        ({"tres_per_job": "gres/gpu:h100:2"}, 10, 20),
        ({"tres_per_job": "gres/gpu:2"}, 10, 20),
        ({"tres_per_job": "gres/gpu:2", "features": "a40&x"}, 40, 45),
        ({"tres_per_job": "gres/gpu:2", "features": "a40|2080_ti"}, 10, 20),
        ({"tres_per_node": "gres/gpu:a40:1,gres/gpu:2080_ti:1", "max_nodes": 1}, 10, 32.5),
        ({"tres_per_node": "gres/gpu:a40:3,gres/gpu:1", "min_nodes": 2, "max_nodes": 2}, 10, 38.75),
        ({"tres_per_task": "gres/gpu:a40:1", "num_tasks": 4}, 40, 45),
    ],
    ids=str,
)
@pytest.mark.parametrize("lua", LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
def test_memory_per_gpu_may_depend_on_the_type(
    tmp_path: Path, lua: ModuleType, asked: dict[str, Any], default: int, most: float
) -> None:
    """Slurm takes one default for all GPUs of a job, the lowest; the maximum is the average over them."""
    limited = plugin(tmp_path, BY_TYPE, lua)
    assert limited.submit(**asked).set == {"mem_per_tres": f"gres/gpu:{default * GIB}"}
    assert limited.submit(**asked, mem_per_tres=f"gres/gpu:{most * GIB:.0f}").accepted
    refused = limited.submit(**asked, mem_per_tres=f"gres/gpu:{most * GIB + 1:.0f}")
    words = f"{most}G" if most == int(most) else f"{most * GIB:.0f}M"
    assert f"at most {words} per GPU (--mem-per-gpu)." in refused.told[0]
    assert not limited.modify({"mem_per_tres": f"gres/gpu:{most * GIB + 1:.0f}"}, asked).accepted


def test_a_job_cannot_take_the_memory_of_another_type_by_a_change(tmp_path: Path) -> None:
    limited = plugin(tmp_path, BY_TYPE)
    record = {"tres_per_job": "gres/gpu:1", "features": "a40", "mem_per_tres": f"gres/gpu:{45 * GIB}"}
    assert not limited.modify({"features": "2080_ti"}, record).accepted
    assert not limited.modify({"features": ""}, record).accepted
    assert not limited.modify({"tres_per_job": "gres/gpu:2080_ti:1"}, record).accepted
    assert limited.modify({"tres_per_job": "gres/gpu:a40:1"}, record).accepted
    assert limited.modify({"features": "a40&x"}, record).accepted


# The queue


@pytest.mark.promise("SKY-036")
@pytest.mark.parametrize(
    ("asked", "lower"),
    [
        ({}, True),
        ({"nice": NICE_OF_0 + 5}, True),
        ({"shared": 0}, False),
        (A40, False),
        ({**A40, "cpus_per_task": 2}, False),
    ],
    ids=str,
)
def test_a_job_without_gpus_has_a_lower_priority(everything: Plugin, asked: dict[str, Any], lower: bool) -> None:
    answer = everything.submit(**asked)
    assert answer.accepted
    assert answer.nice == (asked.get("nice", NICE_OF_0) + 22_000 if lower else None)


@pytest.mark.promise("SKY-036")
@pytest.mark.parametrize(
    ("change", "record", "nice"),
    [
        ({"nice": NICE_OF_0}, {"nice": NICE_OF_0 + 22_000}, 22_000),
        ({"nice": NICE_OF_0 + 30_000}, {"nice": NICE_OF_0 + 22_000}, None),
        ({"tres_per_job": "gres/gpu:0"}, {**A40, "nice": NICE_OF_0, "tres_per_node": None}, 22_000),
        ({"partition": "short"}, {"partition": "cpus", "nice": NICE_OF_0}, 22_000),
        ({"nice": NICE_OF_0}, {**A40, "nice": NICE_OF_0 + 5}, None),
        ({"time_limit": 5}, {"nice": NICE_OF_0}, None),
    ],
    ids=str,
)
def test_no_change_brings_a_job_without_gpus_above_those_with_some(
    everything: Plugin, change: dict[str, Any], record: dict[str, Any], nice: int | None
) -> None:
    said = everything.modify(change, record)
    assert said.accepted
    assert said.nice == (None if nice is None else NICE_OF_0 + nice)


@pytest.mark.promise("SKY-036")
@pytest.mark.parametrize("shared", [2, 3, 4])
def test_a_job_may_not_keep_a_node_for_its_user(everything: Plugin, shared: int) -> None:
    """Such a job is not preempted for another user in any partition."""
    for fields in ({}, A40, {**A40, "partition": "overcap"}, {**A40, "partition": "overcap,short"}):
        refused = everything.submit(**fields, shared=shared)
        assert not refused.accepted
        assert "use --exclusive for whole nodes" in refused.told[0]
    for fine in (0, 1):
        assert everything.submit(**A40, shared=fine).accepted
    assert not everything.modify({"partition": "short"}, {"partition": "cpus", "shared": shared}).accepted
    assert everything.modify({"time_limit": 5}, {"partition": "short", "shared": shared}).accepted


def test_without_labs_gpus_and_preemption_a_job_may_keep_a_node(tmp_path: Path) -> None:
    instead = {
        "preemptable: true, grace: 1m, allow_accounts": "deny_accounts",
        "kind: lab, gid: 5001, contributed_gpus: 10": "kind: group, gid: 5001",
        "kind: lab, gid: 5002, contributed_gpus: 6": "kind: group, gid: 5002",
    }
    assert plugin(tmp_path, instead=instead).submit(**A40, shared=2).accepted


@pytest.mark.promise("SKY-105")
@pytest.mark.parametrize(
    ("asked", "accepted"),
    [
        ({**A40, "mem_per_tres": f"gres/gpu:{45 * GIB}"}, True),
        ({**A40, "mem_per_tres": f"gres/gpu:{45 * GIB + 1}"}, False),
        ({**A40, "mem_per_tres": f"gres:gpu:{46 * GIB}"}, False),
        ({**A40, "min_mem_per_node": 46 * GIB}, False),
        ({**A40, "min_mem_per_node": 46 * GIB, "shared": 0}, True),
        ({**A40, "min_mem_per_node": 0}, False),
        ({"tres_per_node": "gres/gpu:a40:2", "min_mem_per_node": 90 * GIB, "min_nodes": 2}, True),
        ({"tres_per_job": "gres/gpu:a40:2", "min_mem_per_node": 90 * GIB, "min_nodes": 2}, False),
        ({"tres_per_job": "gres/gpu:a40:2", "min_mem_per_node": 90 * GIB}, False),
        ({"tres_per_job": "gres/gpu:a40:2", "min_mem_per_node": 90 * GIB, "min_nodes": 1, "max_nodes": 1}, True),
        ({"tres_per_task": "gres/gpu:a40:1", "num_tasks": 4, "min_mem_per_node": 90 * GIB}, False),
        ({"tres_per_task": "gres/gpu:a40:1", "num_tasks": 4, "min_mem_per_node": 45 * GIB}, True),
        ({"tres_per_job": "gres/gpu:a40:1", "min_mem_per_cpu": 44 * GIB}, True),
        ({"tres_per_job": "gres/gpu:a40:1", "min_mem_per_cpu": 44 * GIB, "pn_min_cpus": 8}, False),
        ({**A40, "min_mem_per_cpu": 8 * GIB, "cpus_per_task": 5}, True),
        ({**A40, "min_mem_per_cpu": 8 * GIB, "cpus_per_task": 6}, False),
        ({"tres_per_job": "gres/gpu:a40:2", "min_mem_per_cpu": 12 * GIB, "cpus_per_task": 7}, True),
    ],
    ids=str,
)
def test_memory_per_gpu_has_a_maximum(everything: Plugin, asked: dict[str, Any], accepted: bool) -> None:
    answer = everything.submit(**asked)
    assert answer.accepted is accepted
    assert answer.told == [] if accepted else "at most 45G per GPU (--mem-per-gpu)." in answer.told[0]


@pytest.mark.parametrize(
    ("asked", "accepted"),
    [
        ({"min_mem_per_cpu": 4 * GIB}, True),
        ({"min_mem_per_cpu": 4 * GIB + 1}, False),
        ({"min_mem_per_node": 32 * GIB, "cpus_per_task": 8}, True),
        ({"min_mem_per_node": 32 * GIB, "cpus_per_task": 7}, False),
        ({"min_mem_per_node": 32 * GIB, "ntasks_per_node": 8, "min_nodes": 3, "max_nodes": 3}, True),
        ({"min_mem_per_node": 32 * GIB, "ntasks_per_node": 7, "min_nodes": 3, "max_nodes": 3}, False),
        ({"min_mem_per_node": 32 * GIB, "ntasks_per_node": 8, "min_nodes": 3}, False),
        ({"min_mem_per_node": 32 * GIB, "num_tasks": 8}, False),
        ({"min_mem_per_node": 32 * GIB, "num_tasks": 8, "min_nodes": 1, "max_nodes": 1}, True),
        ({"min_mem_per_node": 372 * GIB, "num_tasks": 93, "min_cpus": 1, "min_nodes": 1, "max_nodes": 1}, False),
        ({"min_mem_per_node": 4 * GIB, "num_tasks": 93, "min_cpus": 1}, True),
        # --mincpus chooses nodes: the job gets and is charged for one CPU (AllocTRES cpu=1,mem=32G of 24.11)
        ({"min_mem_per_node": 32 * GIB, "pn_min_cpus": 8}, False),
        ({"min_mem_per_node": 300 * GIB, "shared": 0}, True),
        ({"min_mem_per_node": 0}, False),
    ],
    ids=str,
)
def test_memory_of_a_job_without_gpus_has_a_maximum_per_cpu(
    everything: Plugin, asked: dict[str, Any], accepted: bool
) -> None:
    answer = everything.submit(**asked)
    assert answer.accepted is accepted
    assert answer.told == [] if accepted else answer.told[0].endswith("at most 4G per CPU (--mem-per-cpu).")


@pytest.mark.promise("SKY-105")
def test_memory_cannot_be_raised_afterwards(everything: Plugin) -> None:
    # slurmctld stores 0 as the memory of a node if memory is requested for each GPU
    record = {
        "tres_per_job": "gres/gpu:a40:2",
        "mem_per_tres": f"gres/gpu:{4 * GIB}",
        "min_mem_per_node": 0,
        "min_cpus": 4,
        **{"min_nodes": 1, "max_nodes": 1},
    }
    assert everything.modify({"min_mem_per_node": 90 * GIB}, record).accepted
    assert everything.modify({"tres_per_job": "gres/gpu:a40:1"}, record).accepted
    assert not everything.modify({"min_mem_per_node": 91 * GIB}, record).accepted
    assert not everything.modify({"min_mem_per_node": 0}, record).accepted
    assert not everything.modify({"tres_per_job": "gres/gpu:a40:1"}, {**record, "min_mem_per_node": 60 * GIB}).accepted
    assert not everything.modify({"tres_per_job": ""}, {**record, "min_mem_per_node": 60 * GIB}).accepted, "GPUs gone"
    eight = {"min_mem_per_node": 32 * GIB, "min_cpus": 8, "min_nodes": 1, "max_nodes": 1}
    for change in ({"min_cpus": 1}, {"num_tasks": 1}, {"max_nodes": 8}, {"min_nodes": 8, "max_nodes": 8}):
        assert not everything.modify(change, eight).accepted, change
    assert everything.modify({"min_mem_per_node": 31 * GIB}, eight).accepted
    for_each = {"min_cpus": 8, "min_mem_per_cpu": 4 * GIB, "min_nodes": 1, "max_nodes": 1}
    assert everything.modify({"min_mem_per_cpu": 3 * GIB}, for_each).accepted
    assert not everything.modify({"min_mem_per_cpu": 5 * GIB}, for_each).accepted
    assert everything.modify({"mem_per_tres": f"gres/gpu:{45 * GIB}"}, record).accepted
    assert not everything.modify({"mem_per_tres": f"gres/gpu:{46 * GIB}"}, record).accepted
    assert everything.modify({"name": "x", "priority": 0}, {**record, "min_mem_per_node": 99 * GIB}).accepted
    assert everything.modify({"min_mem_per_node": 91 * GIB}, record, uid=0).accepted, "root may"


# Jobs that could not be preempted, or that no job could preempt


def test_a_spread_job_is_refused(everything: Plugin) -> None:
    for flags in (SPREAD, SPREAD + 1, 3 * SPREAD):
        for answer in (everything.submit(bitflags=flags), everything.modify({"bitflags": flags}, {})):
            assert not answer.accepted
            assert "--spread-job" in answer.told[0]
    for flags in (0, 2 * SPREAD, SPREAD - 1):
        assert everything.submit(bitflags=flags).accepted


def test_a_job_of_no_node_is_refused(everything: Plugin) -> None:
    for refused in (everything.submit(min_nodes=0, max_nodes=1), everything.modify({"min_nodes": 0}, {})):
        assert not refused.accepted
        assert "--nodes=1" in refused.told[0]
    assert everything.submit(min_nodes=1, max_nodes=1).accepted


@pytest.mark.parametrize("partition", ["overcap", "short,overcap"])
def test_no_component_of_a_het_job_runs_where_jobs_are_preempted(everything: Plugin, partition: str) -> None:
    asked = {**A40, "partition": partition, "account": "overcap"}
    assert everything.submit(**asked).accepted
    for offset in (0, 1):
        refused = everything.submit(**asked, het_job_offset=offset)
        assert not refused.accepted
        assert "heterogeneous job cannot run in overcap" in refused.told[0]
    assert everything.submit(**A40, partition="short", het_job_offset=0).accepted
    assert not everything.modify({"partition": partition}, {"het_job_id": 7, "het_job_offset": 0}).accepted
    assert everything.modify({"partition": partition}, {"het_job_id": 0, "het_job_offset": 0}).accepted
    assert everything.modify({"time_limit": 10}, {"het_job_id": 7, "partition": "short"}).accepted


def test_a_component_without_a_partition_is_checked_in_the_default_one(tmp_path: Path) -> None:
    text = job_submit_lua(pool(tmp_path, ALL))
    assert text is not None
    for default, accepted in (("short", True), ("overcap", False)):
        assert Plugin(text, partitions={default: 2880}).submit(**A40, het_job_offset=0).accepted is accepted


def test_a_coordinators_new_account_does_not_avoid_the_rules_of_its_parent(everything: Plugin) -> None:
    for answer in (
        everything.submit(account="red-more"),
        everything.submit(default_account="red-more"),
        everything.modify({"account": "red-more"}, {"account": "red"}),
    ):
        assert not answer.accepted
        assert answer.told == [
            "Account red-more is not in the inventory of this cluster: submit with an account that is (-A)."
        ]
    assert everything.submit(account="RED").accepted
    assert everything.submit(default_account=None).accepted, "Slurm itself refuses it"


# Any request

MORE = "qos account partition features mem_per_tres cpus_per_tres tres_per_job tres_per_node tres_per_task"
NAMES = sorted({*AT_SUBMIT, *MORE.split(), "het_job_id", "tres_per_socket", "min_mem_per_node", "min_mem_per_cpu"})
WORDS = st.sampled_from(
    ["gres/gpu:a40:2", "gres:gpu", "gpu:", "gres/gpu:a40:x", "cpu=3,gres/gpu=1", ",", "%s%d", "short"]
) | st.text(st.characters(codec="latin-1"))
NUMBERS = st.sampled_from([0, 1, NO_VAL, NO_VAL16, 2**32 - 1]) | st.integers(0, 2**63)
TEXTS = ("qos", "account", "partition", "features", "user_name", "default_account", "work_dir", "script")


def _values(name: str) -> st.SearchStrategy[Any]:
    text = name in TEXTS or name.startswith("tres_per") or (name.endswith("per_tres") and name != "ntasks_per_tres")
    return st.none() | WORDS if text else NUMBERS


JOBS = st.fixed_dictionaries({}, optional={name: _values(name) for name in NAMES})


@settings(max_examples=300)
@given(asked=JOBS, record=JOBS)
def test_no_request_makes_a_rule_fail(everything: Plugin, asked: dict[str, Any], record: dict[str, Any]) -> None:
    assert everything.submit(**asked).logged == []
    assert everything.modify(asked, record).logged == []


@settings(max_examples=100)
@given(
    typed=st.sampled_from(
        [request for request in WITH_TYPE if any("gpu:" in word and ":0" not in word for word in request.values())]
    ),
    rest=st.fixed_dictionaries(
        {"cpus_per_task": st.integers(1, 7), "partition": st.sampled_from(sorted(PARTITIONS))},
        optional={"features": st.just("a40"), "account": st.just("overcap"), "time_limit": st.integers(1, 240)},
    ),
)
def test_an_ordinary_job_is_not_changed(everything: Plugin, typed: dict[str, Any], rest: dict[str, Any]) -> None:
    answer = everything.submit(**{**typed, **rest}, num_tasks=1, min_mem_per_node=GIB, max_nodes=1)
    assert (answer.accepted, answer.told, answer.set, answer.environment) == (True, [], {}, {})


def test_an_error_in_a_rule_refuses_no_job(tmp_path: Path) -> None:
    text = job_submit_lua(pool(tmp_path, ALL, replaces=REPLACES))
    assert text is not None
    start = "function rules.replaced(job, all, partitions)\n"
    assert start in text
    broken = Plugin(text.replace(start, f"{start}  local _ = nil + 1\n"))
    answer = broken.submit(qos="short", environment={"SLURM_EXPORT_ENV": "x=1"})
    assert (answer.accepted, answer.told, answer.environment) == (True, [], {"SLURM_EXPORT_ENV": "ALL"})
    assert "replaced: " in answer.logged[0]
    assert broken.modify({"qos": "short"}, UNSET).accepted


CPU_ONLY = {
    "  - {name: n1,": "  - {name: c1, address: 10.90.3.1, roles: [compute], hardware: box}\n  - {name: n1,",
    '  - {name: red-only, nodes: "@compute",': '  - {name: red-only, nodes: "c1",',
}


@pytest.mark.parametrize("luas", LUAS)
@pytest.mark.parametrize(
    ("partition", "lower"), [("red-only", False), ("long", True), ("red-only,long", True), (None, True)]
)
def test_without_gpus_in_the_cluster_no_job_has_a_lower_priority(
    tmp_path: Path, luas: ModuleType, partition: str | None, lower: bool
) -> None:
    asked = plugin(tmp_path, MEMORY, luas, instead=CPU_ONLY)
    answer = asked.submit(partition=partition)
    assert (answer.accepted, answer.logged, answer.nice is not None) == (True, [], lower)
    assert asked.submit(partition=partition, shared=2).accepted is not lower


def test_a_job_fits_where_a_parent_of_its_account_may_submit(tmp_path: Path) -> None:
    below = {"  - {name: overcap, kind": "  - {name: phd, kind: group, parent: red}\n  - {name: overcap, kind"}
    asked = plugin(tmp_path, where="fit", instead=below)
    assert "red-only" in asked.submit(account="phd").set["partition"]
    assert "red-only" not in asked.submit(account="blue").set["partition"]


# Requests for which slurmctld allocated more than the plugin computed


BOUND = 16  # GRES_ENFORCE_BIND
ONE_GPU = {"tres_per_job": "gres/gpu:a40:1"}


@pytest.mark.promise("SKY-036")
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"min_mem_per_cpu": 0}, "takes all memory of a node"),
        ({**ONE_GPU, "min_mem_per_cpu": 0}, "takes all memory of a node"),
        *(({**ONE_GPU, "mem_per_tres": f"gres/gpu:{zero}"}, "takes all memory of a node") for zero in ("0", "00")),
        ({"min_mem_per_node": NO_VAL16}, "65534M of memory per CPU"),
        ({**ONE_GPU, "min_mem_per_node": NO_VAL16}, "65534M of memory per GPU"),
        ({**ONE_GPU, "bitflags": BOUND, "min_mem_per_cpu": 44 * GIB}, "enforce-binding"),
        *(({"tres_per_node": text, "min_mem_per_node": 90 * GIB}, "named twice") for text in (
            "gres/gpu:a40:1,gres/gpu:a40:1", "gpu:a40:1,gres:gpu:a40:1", "gres/gpu:a40,gres/gpu:a40:2",
            "gres/gpu:a40:1,gres/gpu:2080_ti:1,gres/gpu:a40=1",
        )),
        *(({**ONE_GPU, "mem_per_tres": f"gres/gpu:{amount}"}, "of memory per GPU") for amount in (
            "400K", "1G", "46081", "1,gres/gpu:99999", "-1", "0x10", "x",
        )),
    ],
    ids=str,
)  # fmt: skip
def test_every_form_of_memory_beyond_the_bound_is_refused(
    everything: Plugin, asked: dict[str, Any], message: str
) -> None:
    assert message in "".join(everything.submit(**asked).told)
    if "bitflags" in asked:
        return  # a changed job lacks these fields: the guard checks its allocation
    record = {"tres_per_job": "gres/gpu:a40:1"} if "tres_per_job" in asked else {"min_cpus": 1, "num_tasks": 1}
    change = {key: value for key, value in asked.items() if key != "tres_per_job"}
    assert message in "".join(everything.modify(change, record).told)


@pytest.mark.parametrize(
    "asked",
    [
        {"tres_per_node": "gres/gpu:a40:1,gres/gpu:2080_ti:1", "min_mem_per_node": 80 * GIB, "max_nodes": 1},
        {"tres_per_node": "gres/gpu:a40:1,gres/gpumem:5", "mem_per_tres": "gres/gpu:4096"},
        {**ONE_GPU, "bitflags": BOUND, "mem_per_tres": "gres/gpu:45056"},
        {**ONE_GPU, "bitflags": BOUND, "min_mem_per_node": 40 * GIB},
        {**ONE_GPU, "min_mem_per_cpu": 6 * GIB, "cpus_per_task": 7},
        {"min_mem_per_node": 8 * GIB, "pn_min_cpus": 8, "min_cpus": 8, "cpus_per_task": 8},
        {"min_mem_per_cpu": 0, "shared": 0},
    ],
    ids=str,
)
def test_memory_within_the_bound_is_accepted(everything: Plugin, asked: dict[str, Any]) -> None:
    assert everything.submit(**asked).accepted


def test_gpus_with_bound_cpus_may_exceed_the_maximum_of_cpus(tmp_path: Path) -> None:
    limited = plugin(tmp_path, "max_cpus_per_gpu: {a40: 15}")
    assert "enforce-binding" in limited.submit(**ONE_GPU, bitflags=BOUND).told[0]
    assert limited.submit(**ONE_GPU).accepted
    assert limited.submit(**ONE_GPU, bitflags=BOUND, shared=0).accepted
    assert limited.submit(tres_per_job="gres/gpu:2080_ti:1", bitflags=BOUND).accepted


@pytest.mark.parametrize("nice", [2147483645, 2147483645 - 22000, 2147461645, 2_000_000_000])
def test_the_nice_value_never_exceeds_its_maximum(everything: Plugin, nice: int) -> None:
    """Above the limit Slurm wraps around to the smallest value: the job would be the first of all."""
    answer = everything.submit(nice=NICE_OF_0 + nice)
    assert answer.nice is not None
    assert NICE_OF_0 + nice <= answer.nice <= NICE_OF_0 + 2147483645


KIB = 1024


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"container": "x" * 4096}, ""),
        ({"container": "x" * 4097}, "--container is too long: at most 4096 bytes."),
        ({"script": "#!/bin/sh\n" + "x" * (512 * KIB - 10)}, ""),
        ({"script": "#!/bin/sh\n" + "x" * (512 * KIB - 9)}, "The job's script is too long: at most 512 KiB."),
        ({"script": "#!/bin/sh\n#SBATCH " + "x" * 16_383}, ""),
        ({"script": "#!/bin/sh\n#SBATCH " + "x" * 16_384}, "A line of #SBATCH is too long: at most 16 KiB."),
        ({"script": "#!/bin/sh\n#SBATCH -p a\n #SBATCH " + "\xff" * 16_384 + "\n"}, "A line of #SBATCH is too"),
        ({"script": "#!/bin/sh\n#SBATCH --container-id=" + "x" * 20_000 + "\n"}, "A line of #SBATCH is too long"),
        ({"script": "#!/bin/sh\n#" + "x" * 20_000}, ""),
        ({"script": None}, ""),
        ({"num_tasks": 1_000_000}, ""),
        ({"req_nodes": "a,n[001-500,7]x[0-9],c"}, ""),
        ({"req_nodes": "x" + "[0-9]" * 4, "exc_nodes": "a,b"}, ""),
        ({"req_nodes": "x" + "[0-9]" * 5}, "--nodelist and --exclude may name at most 10000 nodes each."),
        ({"exc_nodes": "a,n[1-5000]y[0-1],n[5-6]"}, "--nodelist and --exclude may name at most 10000 nodes each."),
        ({"exc_nodes": ",".join(["n[0-9999]", "m"])}, "--nodelist and --exclude may name at most 10000"),
        ({"exc_nodes": "n[" + "9,9-1," * 2000 + "3-12000]"}, "--nodelist and --exclude may name at most 10000"),
        ({"exc_nodes": "n[]],[[x,,["}, ""),
        ({"num_tasks": 2_147_483_648}, "A job may have at most 1000000 tasks."),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value)[:40],
)
def test_texts_and_tasks_that_slurmctld_keeps_of_each_job_have_a_maximum(
    everything: Plugin, asked: dict[str, Any], message: str
) -> None:
    answer = everything.submit(**asked)
    assert answer.accepted == (not message)
    assert "".join(answer.told).startswith(message)
