"""Priority within a tier: Slurm's factors, and jobs without GPUs stay below jobs with GPUs."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inventories import SMALL, changed

from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.priority import least_reserving, partition_factors, step_down, weights

NO_MEMORY = ("default_memory: {per_gpu: 30G, per_cpu: 2G}", "default_memory: {per_cpu: 2G}")
WEIGHT = st.integers(0, 10_000_000)


def test_slurm_has_the_weights_that_are_not_zero(tmp_path: Path) -> None:
    keys = "priority_weights: {qos: 5, age: 7, job_size: 11}, "
    conf = slurm_conf(changed(SMALL, tmp_path, NO_MEMORY, ("scheduler: {", f"scheduler: {{{keys}")))
    found = dict(re.findall(r"^PriorityWeight(\w+)=(\d+)$", conf, re.MULTILINE))
    assert found == {"QOS": "5", "Age": "7", "JobSize": "11"}
    assert "PriorityJobFactor" not in conf


def test_partitions_have_factors_by_their_priority(tmp_path: Path) -> None:
    conf = slurm_conf(changed(SMALL, tmp_path, NO_MEMORY, ("tier: 10", "priority: 4")))
    assert "PriorityWeightPartition=10000\n" in conf
    assert dict(re.findall(r"PartitionName=(\w+) .*PriorityJobFactor=(\d+) ", conf)) == {"all": "0", "red": "65535"}


@pytest.mark.parametrize("fairshare", ["none", "accounts"])
@given(own=st.tuples(*[WEIGHT] * 5), priority=st.integers(0, 65_535), other=st.integers(0, 65_535))
def test_no_job_without_gpus_is_above_a_job_with_gpus(
    tmp_path_factory: pytest.TempPathFactory, fairshare: str, own: tuple[int, ...], priority: int, other: int
) -> None:
    keys = ("qos", "partition", "age", "fairshare", "job_size")
    written = ", ".join(f"{key}: {weight}" for key, weight in zip(keys, own, strict=True))
    cluster = changed(
        SMALL,
        tmp_path_factory.mktemp("weights"),
        ("scheduler: {", f"scheduler: {{fairshare: {fairshare}, priority_weights: {{{written}}}, "),
        ("tier: 10", f"priority: {priority}"),
        ("max_time: 2d", f"max_time: 2d\n    priority: {other}"),
    )
    found, factors, nice, reserves = weights(cluster), partition_factors(cluster), step_down(cluster), 0
    reserves = least_reserving(cluster) or 0
    assert nice
    others = sum(weight for key, weight in found.items() if key != "Partition")
    # by the rule of priority/multifactor: a partition's factor divided by the highest of all, as whole numbers
    highest = max(factors.values(), default=1)
    shares = [int(found["Partition"] * factor / highest) for factor in factors.values()] or [found["Partition"]]
    assert 0 < max(shares) + others - nice < reserves < min(shares)
    if priority != other and own[1] > 65_535:
        assert (factors["red"] > factors["all"]) == (priority > other)
