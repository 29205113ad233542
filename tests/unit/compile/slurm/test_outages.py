"""Nodes and GPUs out of service: Slurm, the health check and the driver's check leave them out; limits stay."""

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from inventories import SMALL, changed, cluster_at
from submitted import LUAS, Plugin

from gpupool.cluster.explain import explain
from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster, Drivers
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.conf import compute_nodes, slurm_conf
from gpupool.compile.slurm.gres import gres_conf
from gpupool.compile.slurm.outages import drains, in_service
from gpupool.compile.slurm.submit import job_submit_lua
from gpupool.compile.system import driver, health
from gpupool.compile.system.devices import fake_devices
from gpupool.testbed.overlay import spec_of, stand_in

OWNED = SMALL.parent / "owned"
HEALTH = "slurm: {health: {interval: 2m}}\n"
ENTRIES = "out_of_service:\n  - {nodes: gpu-1, gpus: [3], reason: a fan}\n"
_GREEN = "the lab green may lack 1 of the 1 a40 GPUs that it owns"
WHOLE = 'out_of_service:\n  - {nodes: gpu-2, reason: "a board [new]"}\n'


def with_entries(tmp_path: Path, entries: str, *more: tuple[str, str]) -> Cluster:
    return changed(SMALL, tmp_path / "inventory", ("scheduler:", f"{HEALTH}{entries}scheduler:"), *more)


@pytest.fixture
def one_gpu(tmp_path: Path) -> Cluster:
    return with_entries(tmp_path, ENTRIES)


def test_slurm_gets_the_other_gpus(one_gpu: Cluster) -> None:
    lines = [line for line in slurm_conf(one_gpu).splitlines() if line.startswith("NodeName=gpu")]
    assert ["Gres=gpu:a40:7,out_of_service:1 " in line for line in lines] == [True, False]
    assert "GresTypes=gpu,out_of_service" in slurm_conf(one_gpu).splitlines()
    assert "AccountingStorageTRES=gres/gpu,gres/gpu:a40" in slurm_conf(one_gpu).splitlines()
    assert [line.split(" ", 1)[1] for line in gres_conf(one_gpu).splitlines() if line.startswith("NodeName=")] == [
        "Name=gpu Type=a40 File=/dev/nvidia[0-2,4-7] Cores=0-63",
        "Name=gpu Type=a40 File=/dev/nvidia[0-7] Cores=0-63",
        "Name=out_of_service Flags=explicit File=/dev/nvidia3",
    ]
    assert [dict(node.gpus) for node in compute_nodes(one_gpu)] == [{"a40": 7}, {"a40": 8}]
    assert drains(one_gpu) == {}


def test_limits_and_totals_do_not_change(one_gpu: Cluster) -> None:
    assert entities(one_gpu) == entities(cluster_at(SMALL))
    assert one_gpu.total_gpus == 16
    testbed = stand_in(one_gpu, cgroup="v2")
    assert testbed.accounts == stand_in(cluster_at(SMALL), cgroup="v2").accounts


def test_the_containers_of_a_testbed_keep_their_devices(one_gpu: Cluster) -> None:
    boxes = [spec_of(stand_in(cluster, cgroup="v2")).containers for cluster in (one_gpu, cluster_at(SMALL))]
    assert [[box.gpus for box in each] for each in boxes] == [[0, 8], [0, 8]]


def test_the_checks_of_a_node_leave_it_out(one_gpu: Cluster) -> None:
    node = one_gpu.nodes["gpu-1"]
    assert health.settings(one_gpu, node)["gpus"] == {"count": 7, "program": driver.CHECK, "out_of_service": [3]}
    (text,) = (file.text for file in files_for(one_gpu, node) if file.path == driver.SETTINGS)
    assert json.loads(text)["out_of_service"] == [3]
    assert json.loads(text)["gpus"]["a40"]["count"] == 7
    assert "out_of_service" not in health.settings(one_gpu, one_gpu.nodes["gpu-2"])["gpus"]


def test_slurmd_finds_the_device_file_of_a_gpu_that_is_gone(one_gpu: Cluster) -> None:
    assert fake_devices(one_gpu, one_gpu.nodes["gpu-1"]) == {"/dev/nvidia3": 3}
    assert fake_devices(one_gpu, one_gpu.nodes["gpu-2"]) == {}
    twin = replace(one_gpu, drivers=Drivers(gpu="fake", storage="standin"))
    assert [*fake_devices(twin, twin.nodes["gpu-1"])] == [f"/dev/nvidia{minor}" for minor in range(8)]


@pytest.mark.parametrize("lua", LUAS, ids=lambda lua: lua.__name__.rpartition(".")[2])
@pytest.mark.parametrize("field", ["tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket"])
def test_no_job_may_request_it(one_gpu: Cluster, lua: ModuleType, field: str) -> None:
    tried = Plugin(str(job_submit_lua(one_gpu)), lua)
    for words in ("gres/out_of_service:1", "gres:out_of_service", "gres/gpu:a40:1,gres/OUT_OF_SERVICE=1"):
        assert "out of service" in str(tried.submit(**{field: words}))
    assert "out of service" not in str(tried.submit(**{field: "gres/gpu:a40:1"}))
    assert "out_of_service" not in Plugin(str(job_submit_lua(cluster_at(SMALL))), lua).rules


def test_slurmd_does_not_search_for_gpus_that_are_known(tmp_path: Path) -> None:
    cluster = with_entries(
        tmp_path, ENTRIES, ("models: [A40]", "models: [A40], autodetect: nvml"), (", cpus_kept_per_gpu: 6", "")
    )
    assert [line.split(" ", 1)[1] for line in gres_conf(cluster).splitlines() if line.startswith("NodeName=")] == [
        "Name=gpu Type=a40 File=/dev/nvidia[0-2,4-7]",
        "AutoDetect=nvml",
        "Name=out_of_service Flags=explicit File=/dev/nvidia3",
    ]


def test_a_whole_node_keeps_its_gpus_and_is_drained(tmp_path: Path) -> None:
    cluster = with_entries(tmp_path, WHOLE)
    assert cluster.nodes["gpu-2"].gpus == {"a40": 8}
    assert drains(cluster) == {"gpu-2": "gpupool: out of service: a board new"}
    assert in_service(cluster) == {"gpu-1": "gpu-1"}


def test_the_cluster_says_what_is_suspended(one_gpu: Cluster) -> None:
    assert one_gpu.suspended == (
        "out of service: gpu-1, GPU 3: a fan",
        "the labs red and blue together may lack 1 of the 16 GPUs that they own",
    )
    whole = one_gpu.in_service()
    assert [whole.nodes[name] for name in ("gpu-1", "gpu-2")] == [
        cluster_at(SMALL).nodes[name] for name in ("gpu-1", "gpu-2")
    ]


def test_explain_has_the_outage(tmp_path: Path) -> None:
    with_entries(tmp_path, ENTRIES)
    loaded = examine(tmp_path / "inventory")

    def value(name: str, key: str) -> list[str]:
        return [value.value for one in explain(loaded, name) for value in one.values if value.key == key]

    assert value("gpu-1", "out_of_service") == ["gpu-1, GPU 3: a fan"]
    assert value("gpu-2", "out_of_service") == []
    assert value("blue", "suspended") == ["the labs red and blue together may lack 1 of the 16 GPUs that they own"]
    assert value("all", "has") == ["2 nodes, 15 GPUs (1 more out of service), 128 CPUs"]


@pytest.mark.parametrize(
    ("entry", "suspended"),
    [
        ("nodes: dm-1", ["the lab dm may lack 2 of the 4 GPUs that it owns"]),
        ("nodes: dm-2, gpus: [1]", ["the lab dm may lack 1 of the 4 GPUs that it owns"]),
        ("nodes: cpu-1", ["the lab chem may lack 32 of the 40 CPUs that it owns"]),
        ("nodes: pool-2, gpus: [0]", ["the labs blue and green together may lack 1 of the 4 v100 GPUs that they own"]),
        (
            "nodes: pool-1, gpus: [0]",
            [
                "the lab red may lack 1 of the 3 GPUs that it owns",
                "the lab green may lack 1 of the 1 a40 GPUs that it owns",
            ],
        ),
    ],
)
def test_the_owners_of_each_form_are_named(tmp_path: Path, entry: str, suspended: list[str]) -> None:
    new = f"out_of_service: [{{{entry}, reason: power}}]\nscheduler:"
    _, *texts = changed(OWNED, tmp_path / "owned", ("scheduler:", new)).suspended
    assert texts == suspended
