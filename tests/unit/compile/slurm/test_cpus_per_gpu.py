"""CPUs for each GPU: Slurm's default in slurm.conf, and the maximum that the submit plugin accepts."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from submitted import LUAS, PARTITIONS, Plugin, plugin, pool

from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.submit import job_submit_lua

MOST = "max_cpus_per_gpu: {default: 7, a40: 15}"
TI = {"tres_per_node": "gres/gpu:2080_ti:1"}


def test_slurm_allocates_them_by_default(tmp_path: Path) -> None:
    instead = {"name: long, nodes": "name: long, default_cpus_per_gpu: 4, nodes"}
    lines = slurm_conf(pool(tmp_path, "default_cpus_per_gpu: 6", instead=instead)).splitlines()
    assert "DefCpuPerGPU=6" in lines
    (long,) = [line for line in lines if line.startswith("PartitionName=long ")]
    assert " DefCpuPerGPU=4 " in long
    assert sum("DefCpuPerGPU" in line for line in lines) == 2
    assert "DefCpuPerGPU" not in slurm_conf(pool(tmp_path))


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({**TI, "cpus_per_task": 7}, None),
        ({**TI, "cpus_per_task": 8}, "This job requests 8 CPUs per GPU: at most 7 (--cpus-per-gpu)."),
        ({**TI, "num_tasks": 8}, "8 CPUs per GPU: at most 7"),
        ({**TI, "num_tasks": 8, "min_cpus": 1}, None),  # --overcommit: the tasks share a CPU
        ({**TI, "pn_min_cpus": 8}, "8 CPUs per GPU"),
        ({**TI, "cpus_per_tres": "gres:gpu:8"}, "8 CPUs per GPU"),
        ({**TI, "ntasks_per_tres": 2, "cpus_per_task": 4}, "8 CPUs per GPU"),
        ({**TI, "min_nodes": 2, "num_tasks": 2, "cpus_per_task": 7}, None),
        ({"tres_per_node": "gres/gpu:a40:1", "cpus_per_task": 15}, None),
        ({"tres_per_node": "gres/gpu:a40:1", "cpus_per_task": 16}, "16 CPUs per GPU: at most 15"),
        ({"tres_per_job": "gres/gpu:a40:1,gres/gpu:2080_ti:1", "min_cpus": 22}, None),
        (
            {"tres_per_job": "gres/gpu:a40:1,gres/gpu:2080_ti:1", "min_cpus": 23, "num_tasks": 23},
            "11.5 CPUs per GPU: at",
        ),
        ({"tres_per_job": "gres/gpu:1", "cpus_per_task": 8}, "8 CPUs per GPU: at most 7"),
        ({"tres_per_job": "gres/gpu:1", "cpus_per_task": 15, "features": "a40"}, None),
        ({"tres_per_job": "gres/gpu:1", "cpus_per_task": 15, "features": "a40|2080_ti"}, "at most 7"),
        ({**TI, "cpus_per_task": 64, "shared": 0}, None),
        ({"cpus_per_task": 64}, None),
    ],
    ids=str,
)
@pytest.mark.parametrize("lua", LUAS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_job_with_too_many_cpus_per_gpu_is_refused(
    tmp_path: Path, lua: ModuleType, asked: dict[str, Any], refused: str | None
) -> None:
    answer = plugin(tmp_path, MOST, lua).submit(**asked)
    assert (answer.accepted, answer.logged) == (refused is None, [])
    assert not refused or refused in answer.told[0]


def test_a_change_to_too_many_cpus_per_gpu_is_refused(tmp_path: Path) -> None:
    asked, small = plugin(tmp_path, MOST), {**TI, "min_nodes": 1, "min_cpus": 7, "cpus_per_task": 7, "num_tasks": 1}
    assert not asked.modify({"cpus_per_task": 8}, small).accepted
    assert not asked.modify({"min_cpus": 8}, {**small, "num_tasks": 8, "cpus_per_task": 1}).accepted
    assert not asked.modify({"tres_per_node": "gres/gpu:2080_ti:1"}, {**small, "min_cpus": 14, "num_tasks": 2}).accepted
    assert asked.modify({"tres_per_node": "gres/gpu:2080_ti:2"}, small).accepted
    assert asked.modify({"cpus_per_task": 8}, small, uid=0).accepted
    assert asked.modify({"time_limit": 10}, {**small, "min_cpus": 64}).accepted, "what it does not touch stays"


@pytest.mark.parametrize(
    ("partition", "memory", "accepted"),
    [
        ("short", 7, True),  # 6 CPUs of 7G are 42G a GPU
        ("short", 8, False),
        ("long", 11, True),  # 4
        ("long", 12, False),
        ("long,short", 8, False),
        (None, 8, False),
    ],
)
def test_default_cpus_count_with_their_memory(
    tmp_path: Path, partition: str | None, memory: int, accepted: bool
) -> None:
    instead = {"name: long, nodes": "name: long, default_cpus_per_gpu: 4, nodes"}
    text = job_submit_lua(pool(tmp_path, "default_cpus_per_gpu: 6, max_memory: {per_gpu: 45G}", instead=instead))
    assert text is not None
    by_cpu = {**TI, "partition": partition, "min_mem_per_cpu": memory * 1024}
    asked = Plugin(text, LUAS[0], PARTITIONS)
    assert asked.submit(**by_cpu).accepted is accepted
    assert asked.submit(**by_cpu, cpus_per_task=3).accepted, "a requested number of CPUs overrides the default"


BY_TYPE = "default_cpus_per_gpu: {a40: 8, default: 6}"


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({"tres_per_job": "gres/gpu:a40:2"}, {"cpus_per_tres": "gres/gpu:8"}),
        ({"tres_per_node": "gres:gpu:a40:2"}, {"cpus_per_tres": "gres:gpu:8"}),
        (TI, {"cpus_per_tres": "gres/gpu:6"}),
        ({"tres_per_job": "gres/gpu:2"}, {"cpus_per_tres": "gres/gpu:6"}),
        ({"tres_per_job": "gres/gpu:2", "features": "a40"}, {"cpus_per_tres": "gres/gpu:8"}),
        ({"tres_per_job": "gres/gpu:a40:1,gres/gpu:2080_ti:1"}, {"cpus_per_tres": "gres/gpu:6"}),
        ({"tres_per_job": "gres/gpu:a40:2", "num_tasks": 19, "min_cpus": 19}, {"cpus_per_tres": "gres/gpu:10"}),
        ({"tres_per_job": "gres/gpu:a40:2", "num_tasks": 19, "min_cpus": 1}, {"cpus_per_tres": "gres/gpu:8"}),
        ({"tres_per_job": "gres/gpu:a40:1", "partition": "long"}, {}),
        ({"tres_per_job": "gres/gpu:a40:1", "partition": "short,long"}, {"cpus_per_tres": "gres/gpu:4"}),
        ({"tres_per_job": "gres/gpu:a40:1", "cpus_per_task": 2}, {}),
        ({"tres_per_job": "gres/gpu:a40:1", "cpus_per_tres": "gres/gpu:2"}, {}),
        ({"tres_per_job": "gres/gpu:a40:1", "ntasks_per_tres": 2}, {}),
        ({"tres_per_task": "gres/gpu:a40:1", "num_tasks": 2}, {}),
        ({}, {}),
    ],
    ids=str,
)
@pytest.mark.parametrize("lua", LUAS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_default_cpus_may_depend_on_the_type_within_one_partition(
    tmp_path: Path, lua: ModuleType, asked: dict[str, Any], given: dict[str, Any]
) -> None:
    """slurm.conf has the lowest number, for jobs that the plugin does not see."""
    cluster = pool(tmp_path, BY_TYPE, instead={"name: long, nodes": "name: long, default_cpus_per_gpu: 4, nodes"})
    assert "\nDefCpuPerGPU=6\n" in slurm_conf(cluster)
    text = job_submit_lua(cluster)
    assert text is not None
    assert Plugin(text, lua, PARTITIONS).submit(**asked).set == given
