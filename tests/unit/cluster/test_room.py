"""An inventory that `check` accepts leaves room for every GPU: no combination of other jobs can take it."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inventories import SMALL, copied

from gpupool.cluster.load import examine

GIB = st.integers(1, 80)


def complaints(folder: Path, *changes: tuple[str, str]) -> list[str]:
    return [str(complaint) for complaint in examine(copied(SMALL, folder, *changes)).open]


@pytest.mark.promise("SKY-036")
@given(
    kept=st.integers(1, 9),
    default=st.integers(1, 62),
    each_gpu=GIB,
    each_cpu=st.integers(1, 8),
    memory=st.integers(64, 700),
)
def test_no_combination_of_jobs_takes_the_resources_of_the_last_gpu(
    tmp_path_factory: pytest.TempPathFactory, kept: int, default: int, each_gpu: int, each_cpu: int, memory: int
) -> None:
    """Tests every number of other GPUs in use with their maximum, beside every number of CPUs without GPUs."""
    found = complaints(
        tmp_path_factory.mktemp("room"),
        ("cpus_kept_per_gpu: 6", f"cpus_kept_per_gpu: {kept}"),
        ("memory: 512G", f"memory: {memory}G"),
        ("default_memory: {per_gpu: 30G", f"default_memory: {{per_gpu: {default}G"),
        ("max_memory: {per_gpu: 60G, per_cpu: 2G}", f"max_memory: {{per_gpu: {each_gpu}G, per_cpu: {each_cpu}G}}"),
    )
    cpus, gpus, there = 64, 8, memory * 1024 * 97 // 100
    free = cpus - gpus * kept
    fits = free >= 0 and all(
        used * each_gpu * 1024 + others * each_cpu * 1024 + (gpus - used) * default * 1024 <= there
        for used, others in itertools.product(range(gpus), range(max(free, 0) + 1))
    )
    # the only other complaints are about a CPU of a job without GPUs that gets too much by default
    of_cpus = [line for line in found if "per_cpu: 64 x" in line]
    of_cpus += [line for line in found if "default_memory.per_cpu: is 2G" in line]
    other_complaints = [
        line for line in found if "all CPUs of all nodes are reserved" not in line and line not in of_cpus
    ]
    if not other_complaints:
        assert fits
    if fits and each_gpu >= default:
        assert not other_complaints
