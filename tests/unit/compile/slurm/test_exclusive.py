"""Partitions that allocate whole nodes: slurm.conf, and the submit plugin, which treats their jobs as --exclusive."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from inventories import SMALL, changed
from submitted import LUAS, MEMORY, PARTITIONS, Plugin, pool

from gpupool.cluster.load import examine
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.submit import job_submit_lua

WHOLE = {"name: long, nodes": "name: long, exclusive: job, nodes"}
GPU = {"tres_per_node": "gres/gpu:a40:1"}


@pytest.fixture(params=LUAS, ids=lambda module: module.__name__.rpartition(".")[2])
def lua(request: pytest.FixtureRequest) -> ModuleType:
    module: ModuleType = request.param
    return module


def test_slurm_conf_allocates_whole_nodes(tmp_path: Path) -> None:
    conf = slurm_conf(pool(tmp_path, instead=WHOLE))
    assert [" OverSubscribe=EXCLUSIVE " in line for line in conf.splitlines() if line.startswith("PartitionName")] == [
        *(False, True, False, False, False),
    ]


def test_slurm_conf_allocates_nodes_to_one_user_at_a_time(tmp_path: Path) -> None:
    changes = [("tier: 10", "exclusive: user"), ("contributed_gpus: 10", "contributed_gpus: 16")]
    changes += [("  - {name: blue, kind: lab, gid: 5002, contributed_gpus: 6}\n", "")]
    assert slurm_conf(changed(SMALL, tmp_path, *changes)).count(" ExclusiveUser=YES ") == 1


@pytest.mark.parametrize(
    ("partition", "memory"), [("long", 0), ("long,short", None), ("short", None), ("short,long", None), (None, None)]
)
def test_a_job_has_all_memory_of_its_whole_nodes(
    tmp_path: Path, lua: ModuleType, partition: str | None, memory: int | None
) -> None:
    text = job_submit_lua(pool(tmp_path, f"{MEMORY}, max_memory: {{per_gpu: 45G, per_cpu: 4G}}", instead=WHOLE))
    assert text is not None
    asked = Plugin(text, lua, PARTITIONS)
    for fields in (GPU, {}):
        answer = asked.submit(partition=partition, **fields)
        assert (answer.accepted, answer.set.get("min_mem_per_node"), answer.logged) == (True, memory, [])
        assert ("min_mem_per_cpu" in answer.set) is (memory is None and not fields)
        assert (answer.nice is None) is bool(memory == 0 or fields), "whole nodes are charged with their GPUs"
    assert asked.submit(partition=partition, min_mem_per_node=1024, **GPU).set == {}
    given = {"mem_per_tres": "gres/gpu:30720"}
    assert asked.submit(partition=partition, shared=0, **GPU).set == given, "--exclusive gets the default of its GPUs"


def test_a_job_on_whole_nodes_has_no_limits_per_gpu_or_cpu(tmp_path: Path, lua: ModuleType) -> None:
    limits = "max_memory: {per_gpu: 45G, per_cpu: 4G}, max_cpus_per_gpu: {default: 7}"
    text = job_submit_lua(pool(tmp_path, limits, instead=WHOLE))
    assert text is not None
    asked = Plugin(text, lua, PARTITIONS)
    much: tuple[dict[str, Any], ...] = (
        {"min_mem_per_node": 0},
        {"cpus_per_task": 64},
        {"min_mem_per_node": 400 * 1024},
    )
    for fields in much:
        assert asked.submit(partition="long", **GPU, **fields).accepted
        assert not asked.submit(partition="long,short", **GPU, **fields).accepted
        assert not asked.submit(**GPU, **fields).accepted
        assert not asked.modify({"partition": "short"}, {"partition": "long", **GPU, **fields}).accepted
        assert asked.modify({"partition": "long"}, {"partition": "short", **GPU, **fields}).accepted


def test_without_a_default_memory_slurm_allocates_all_of_it(tmp_path: Path) -> None:
    changes = [("default_memory: {per_gpu: 30G, per_cpu: 2G}, ", ""), ("tier: 10", "exclusive: job")]
    text = job_submit_lua(changed(SMALL, tmp_path, *changes))
    assert text is not None
    assert not {"whole_memory", "memory_per_cpu"} & {*Plugin(text, LUAS[0]).rules}


def test_where_all_nodes_are_allocated_whole_no_share_is_required(tmp_path: Path) -> None:
    """Neither CPUs for each GPU nor a default memory is required then."""
    bare = (SMALL / "inventory.yml").read_text()
    for old, new in {
        ", cpus_kept_per_gpu: 6": "",
        "default_memory: {per_gpu: 30G, per_cpu: 2G}, max_memory: {per_gpu: 60G, per_cpu: 2G}": "",
        "contributed_gpus: 10": "contributed_gpus: 8",
        "contributed_gpus: 6": "contributed_gpus: 8",
    }.items():
        assert old in bare
        bare = bare.replace(old, new)
    for text, complaints in ((bare, 2), (bare.replace("max_time:", "exclusive: job\n    max_time:"), 0)):
        (tmp_path / "inventory.yml").write_text(text)
        assert (
            len([complaint for complaint in map(str, examine(tmp_path).open) if ": info: " not in complaint])
            == complaints
        )
