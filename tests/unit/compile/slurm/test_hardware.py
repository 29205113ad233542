"""A node's hardware in slurm.conf, without counting CPUs and memory that no job gets."""

from pathlib import Path

import pytest
from inventories import SMALL, changed

from gpupool.cluster.model import Cluster
from gpupool.cluster.node_table import expand_all
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.shape import validated
from gpupool.cluster.text import read
from gpupool.compile.slurm import hardware
from gpupool.compile.slurm.conf import compute_nodes, slurm_conf
from gpupool.compile.slurm.gres import gres_conf
from gpupool.testbed.overlay import stand_in

BOX = "cpus: 64, memory: 512G, gpu_slots: 8, cpus_kept_per_gpu: 6"
CORES = "cpus: 64, sockets: 2, cores: 16, threads: 2, memory: 512G, gpu_slots: 8"
SCHEDULER = "scheduler: {"


def node_line(cluster: Cluster) -> dict[str, str]:
    """Return the words of the first node's line."""
    line = next(line for line in slurm_conf(cluster).splitlines() if line.startswith("NodeName="))
    return dict(word.split("=", 1) for word in line.split())


def test_by_default_single_threads_are_allocated(tmp_path: Path) -> None:
    line = node_line(changed(SMALL, tmp_path, (BOX, CORES)))
    assert line["CPUs"] == "64"
    assert not {"Sockets", "CoresPerSocket", "ThreadsPerCore"} & line.keys()


def test_whole_cores_are_allocated_on_request(tmp_path: Path) -> None:
    cluster = changed(
        SMALL, tmp_path, (BOX, CORES), (SCHEDULER, f"{SCHEDULER}allocate: core, one_task_per_core: true, ")
    )
    line = node_line(cluster)
    assert [line[key] for key in ("CPUs", "Sockets", "CoresPerSocket", "ThreadsPerCore")] == ["64", "2", "16", "2"]
    assert "SelectTypeParameters=CR_Core_Memory,CR_ONE_TASK_PER_CORE\n" in slurm_conf(cluster)


@pytest.mark.parametrize(("cpus", "cores", "threads"), [(64, 32, 2), (32, 32, 1)])
def test_sockets_cores_and_threads_may_be_in_slurms_own_words(
    cpus: int, cores: int, threads: int, tmp_path: Path
) -> None:
    """Slurm then allocates all threads of a core together if its CPUs are threads."""
    words = "parameters: {Sockets: 2, CoresPerSocket: 16, ThreadsPerCore: 2}"
    cluster = changed(SMALL, tmp_path, (BOX, f"cpus: {cpus}, memory: 512G, gpu_slots: 8, {words}"))
    line = node_line(cluster)
    keys = ("CPUs", "Sockets", "CoresPerSocket", "ThreadsPerCore")
    assert [line[key] for key in keys] == [str(cpus), "2", "16", "2"]
    assert {node.cores for node in compute_nodes(cluster)} == {cores}
    assert {hardware.threads(node, "thread") for node in cluster.having("compute")} == {threads}


def test_the_cpus_of_gpus_are_whole_cores_of_one_socket(tmp_path: Path) -> None:
    kept = (BOX, f"{CORES}, cpus_kept_per_gpu: 6")
    cluster = changed(SMALL, tmp_path, kept, (SCHEDULER, f"{SCHEDULER}allocate: core, "))
    line = node_line(cluster)
    assert [line[key] for key in ("Sockets", "CoresPerSocket", "ThreadsPerCore")] == ["1", "32", "2"]
    assert line["RestrictedCoresPerGPU"] == "3"
    assert "Cores=0-31\n" in gres_conf(cluster)


@pytest.mark.parametrize(("unit", "fields"), [("thread", ("1", "64", "1", "4")), ("core", ("2", "16", "2", "2"))])
def test_cores_for_the_system_are_reserved_with_all_their_threads(
    unit: str, fields: tuple[str, ...], tmp_path: Path
) -> None:
    kept = (BOX, f"{CORES}, cores_kept: 2, memory_kept: 8G")
    cluster = changed(SMALL, tmp_path, kept, (SCHEDULER, f"{SCHEDULER}allocate: {unit}, "))
    line = node_line(cluster)
    assert {node.cores for node in compute_nodes(cluster)} == {int(fields[0]) * int(fields[1])}
    keys = ("Sockets", "CoresPerSocket", "ThreadsPerCore", "CoreSpecCount")
    assert tuple(line[key] for key in keys) == fields
    assert line["MemSpecLimit"] == "8192"


def test_disk_weight_and_architecture_are_written(tmp_path: Path) -> None:
    line = node_line(changed(SMALL, tmp_path, (BOX, f"{BOX}, local_disk: 1.5T, weight: 0, arch: aarch64")))
    assert (line["TmpDisk"], line["Weight"], line["Feature"]) == ("1384120", "0", "a40,aarch64")


def test_a_nominal_disk_is_larger_than_what_slurm_counts(tmp_path: Path) -> None:
    """slurmd counts MiB of the file system (statvfs); a node with less than TmpDisk is set INVALID (slurm.conf(5))."""
    line = node_line(changed(SMALL, tmp_path, (BOX, f"{BOX}, local_disk: 27.2T")))
    ext4 = 27.2e12 / 2**20 * (1 - 256 / 16384)  # without its inodes: 256 bytes for each 16 KiB
    assert int(line["TmpDisk"]) < ext4


def test_a_measured_disk_is_written_unchanged_with_its_path(tmp_path: Path) -> None:
    disk = "local_disk: {path: /scratch, size: 6.4T, real_size: 6012345M}"
    cluster = changed(SMALL, tmp_path, (BOX, f"{BOX}, {disk}"))
    assert node_line(cluster)["TmpDisk"] == "6012345"
    assert "\nTmpFS=/scratch\n" in slurm_conf(cluster)
    assert "TmpFS" not in slurm_conf(stand_in(cluster, cgroup="v2")), "no testbed has it"


def test_the_share_of_a_disk_that_jobs_do_not_get_can_be_set(tmp_path: Path) -> None:
    exact = (SCHEDULER, f"slurm: {{disk_reserve: 0%}}\n{SCHEDULER}")
    line = node_line(changed(SMALL, tmp_path, (BOX, f"{BOX}, local_disk: {{size: 1.5T}}"), exact))
    assert line["TmpDisk"] == "1572864"


def test_measured_memory_is_written_unchanged(tmp_path: Path) -> None:
    assert node_line(changed(SMALL, tmp_path, ("memory: 512G", "real_memory: 515123M")))["RealMemory"] == "515123"


def test_requests_to_slurm_count_all_cpus_of_a_node(tmp_path: Path) -> None:
    """slurmctld counts all CPUs, even if no job gets them."""
    cluster = changed(SMALL, tmp_path, (BOX, f"{CORES}, cores_kept: 2"))
    assert {compute_node.cpus for compute_node in compute_nodes(cluster)} == {64}


def test_cpus_and_memory_of_the_system_are_in_no_sum(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path, (BOX, f"{CORES}, cores_kept: 2, memory_kept: 12G"))
    node = cluster.nodes["gpu-1"]
    assert (node.job_cpus, node.job_memory) == (60, node.memory - 12 * 1024)
    inventory, _ = validated(read(tmp_path).data)
    assert inventory is not None
    pool = Site(inventory, expand_all(inventory)[0]).pool(frozenset({"@compute"}))
    assert (pool["cpu"], pool["mem"]) == (120, 2 * 500 * 1024)


def test_the_only_hardware_is_that_of_all_compute_nodes(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path, (", hardware: box, gpus", ", gpus"))
    assert slurm_conf(cluster) == slurm_conf(changed(SMALL, tmp_path / "named"))
    assert cluster.nodes["ctl"].hardware is None
    assert cluster.select("@hardware:box") == {"gpu-1", "gpu-2"}


def test_without_slots_any_number_of_gpus_is_accepted(tmp_path: Path) -> None:
    assert changed(SMALL, tmp_path, (", gpu_slots: 8", "")).nodes["gpu-1"].gpu_count == 8


def test_containers_declare_the_disk_and_machines_do_not(tmp_path: Path) -> None:
    small = "cpus: 2, memory: 1G, gpu_slots: 8, local_disk: 1T"
    changes = [
        (BOX, small),
        (
            "scheduler: {default_partition: all, default_memory: {per_gpu: 30G, per_cpu: 2G}, "
            "max_memory: {per_gpu: 60G, per_cpu: 2G}}",
            "scheduler: {default_partition: all}",
        ),
    ]
    cluster = changed(SMALL, tmp_path, *changes)
    assert "TmpDisk" in node_line(stand_in(cluster, cgroup="v2"))
    assert "TmpDisk" not in node_line(stand_in(cluster, cgroup="v2", machines=["gpu-1"]))
