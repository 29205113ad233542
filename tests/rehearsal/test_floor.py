"""The memory of a lab's jobs on a real slurmctld of each version: legal requests run, and a bypass stays in the lab."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from inventories import SMALL, changed
from pace import until
from rehearsing import RELEASES

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm import arbiter
from gpupool.compile.slurm.floor import memory
from gpupool.rehearsal.twin import Ask, Refusal, Twin, compiled, of_version
from gpupool.slurm.releases import Tested

NO_RULE = """
function slurm_job_submit() return slurm.SUCCESS end
function slurm_job_modify() return slurm.SUCCESS end
return slurm.SUCCESS
"""
CHANGES = (
    ("contributed_gpus: 10", "contributed_gpus: 8"),
    ("scheduler: {", "scheduler: {lab_share: {cpu: 8}, "),
    ("hardware:\n", "hardware:\n  half: {cpus: 32, memory: 128G, gpu_slots: 4, cpus_kept_per_gpu: 6}\n"),
    (
        "accounts:\n",
        "  - {name: half, address: 10.90.2.9, roles: [compute], hardware: half, gpus: {a40: 4}}\naccounts:\n",
    ),
    ("max_memory: {per_gpu: 60G", "max_memory: {per_gpu: 30G"),
    ("account: red}\n", "account: red}\n  - {name: bea, uid: 20002, account: blue}\n"),
    ("contributed_gpus: 6", "contributed_gpus: 4"),
    ("partitions:\n", "partitions:\n  - {name: boxes, nodes: 'gpu-[1-2]', max_time: 1d}\n"),
)


def _cluster(folder: pytest.TempPathFactory, version: Tested) -> Cluster:
    return of_version(changed(SMALL, folder.mktemp("floor"), *CHANGES), version)


@pytest.fixture(scope="module", params=RELEASES)
def twin(apart: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(_cluster(tmp_path_factory, request.param), version=request.param) as twin:
        yield twin


@pytest.fixture(scope="module", params=RELEASES)
def open_door(apart: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    """A twin whose submit plugin refuses nothing, and without the guard."""
    cluster = _cluster(tmp_path_factory, request.param)
    whole = compiled(cluster)
    files = {**whole.files, "/etc/slurm/job_submit.lua": NO_RULE}
    del files[arbiter.UNIT]
    with Twin.start(cluster, replace(whole, files=files), request.param) as twin:
        yield twin


def _runs(twin: Twin, *jobs: str | Refusal) -> None:
    assert all(isinstance(job, str) for job in jobs), jobs
    until(
        lambda: {job.state for job in twin.jobs() if job.array in jobs} == {"RUNNING"},
        "the jobs run",
        lambda: str(twin.jobs()),
    )


@pytest.mark.parametrize(
    "form",
    [
        "--gpus=8 --mem-per-gpu=30G",
        "-N 2 --gpus-per-node=4 --mem-per-gpu=30G",
        "-n 8 --gpus-per-task=1 --mem-per-gpu=30G",
        "-N 1 --gres=gpu:8 --mem=240G",
        "-N 1 --gpus=8 --cpus-per-gpu=4 --mem-per-cpu=7680M",
        "--array=1-8 --gpus=1 --mem-per-gpu=30G",
        "--gpus=8",
    ],
)
def test_a_lab_uses_its_whole_cap_with_the_most_memory(twin: Twin, form: str) -> None:
    """Besides, its jobs without GPUs have as many CPUs with the most memory as there are."""
    twin.clear()
    others = [Ask("ann", ("--partition=boxes", "--cpus-per-task=16", "--mem-per-cpu=2G"))] * 2
    _runs(twin, *twin.submit([Ask("ann", ("--partition=boxes", *form.split())), *others]))


@pytest.mark.parametrize(
    ("user", "form"),
    [
        ("ann", "--partition=boxes --exclusive --mem=0"),
        ("ann", "--partition=boxes --exclusive --gpus=8"),
        ("bea", "--nodelist=half --exclusive --mem=0"),
        ("bea", "--nodelist=half --exclusive"),
    ],
)
def test_a_lab_uses_a_whole_node_with_all_its_memory(twin: Twin, user: str, form: str) -> None:
    twin.clear()
    _runs(twin, *twin.submit([Ask(user, tuple(form.split()))]))


def test_what_passes_the_plugin_takes_only_memory_of_its_lab(open_door: Twin) -> None:
    open_door.clear()
    most = memory(open_door.cluster, open_door.cluster.accounts["blue"])
    assert most
    forms = (
        "--mem-per-cpu=0",
        "-c1 --mem=120G",
        "-c1 --mem=400G",
        "--mincpus=8 -n1 --mem=100G",
        "--gpus=1 --gres-flags=enforce-binding --mem-per-cpu=44G",
        "--gres=gpu:1,gpu:1,gpu:1 --mem=100G",
        "--gpus=1 --mem-per-gpu=100G",
        "--gpus=1 --mem=0",
    )
    open_door.submit([Ask("bea", ("--partition=all", "--array=1-4", *form.split())) for form in forms])
    for job in {job.array for job in open_door.jobs() if job.user == "bea"}:
        open_door.run(f"scontrol update jobid={job} MinMemoryNode=65534", "bea")
    until(lambda: any(job.state == "RUNNING" for job in open_door.jobs()), "some run", lambda: str(open_door.jobs()))
    _runs(open_door, *open_door.submit([Ask("ann", ("--partition=all", "-N", "1", "--gpus=8", "--mem-per-gpu=30G"))]))
    held = sum(job.mem for job in open_door.jobs() if job.user == "bea" and job.state == "RUNNING")
    assert 0 < held <= most
