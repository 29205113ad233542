"""gres.conf by Slurm's documentation for MIG, other vendors, mixed hosts and a site's own resources."""

from pathlib import Path

import pytest
from inventories import SMALL, changed

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import gres_conf
from gpupool.compile.system.devices import fake_devices
from gpupool.compile.system.driver import driver_for, has_check
from gpupool.compile.system.health import settings
from gpupool.rehearsal.twin.boot import tree
from gpupool.rehearsal.twin.compiled import compiled
from gpupool.rehearsal.twin.differences import applied, unnamed
from gpupool.rehearsal.twin.differences.table import differences, place_of
from gpupool.testbed.container import create
from gpupool.testbed.overlay import spec_of, stand_in

PLAIN = ", cpus_kept_per_gpu: 6"
TYPE = "a40: {models: [A40]}"
GPUS = "gpus: {a40: 8}"
SLICE = "h100_1g.10gb: {models: [H100], mig: {of: h100, profile: 1g.10gb}"


def inventory(folder: Path, types: str, gpus: str) -> Cluster:
    """Return the small cluster with other GPUs."""
    few = [(f"contributed_gpus: {count}", "contributed_gpus: 1") for count in (10, 6)]
    cluster = changed(SMALL, folder, (PLAIN, ""), (TYPE, types), (GPUS, gpus), *few)
    assert not examine(folder).errors
    return cluster


def lines(cluster: Cluster) -> list[str]:
    """Return the lines of gres.conf."""
    return [line for line in gres_conf(cluster).splitlines() if not line.startswith("#")]


def slices(folder: Path) -> Cluster:
    return inventory(
        folder, f"h100: {{models: [H100], autodetect: nvml}}\n  {SLICE}, autodetect: nvml}}",
        "gpus: {h100: 1, h100_1g.10gb: 9}",
    )  # fmt: skip


def test_slices_are_detected_by_nvml(tmp_path: Path) -> None:
    cluster = slices(tmp_path)
    assert lines(cluster) == ["NodeName=gpu-[1-2] AutoDetect=nvml"]
    assert " Gres=gpu:h100:1,gpu:h100_1g.10gb:9 " in slurm_conf(cluster)
    assert "AccountingStorageTRES=gres/gpu,gres/gpu:h100,gres/gpu:h100_1g.10gb\n" in slurm_conf(cluster)


def test_a_slice_with_named_device_files_has_them_all(tmp_path: Path) -> None:
    files = [
        f"/dev/nvidia0,/dev/nvidia-caps/nvidia-cap{number},/dev/nvidia-caps/nvidia-cap{number + 1}"
        for number in (21, 30)
    ]
    cluster = inventory(
        tmp_path, f"h100: {{models: [H100]}}\n  {SLICE}}}",
        f"gpus: {{h100_1g.10gb: 2}}, devices: {{h100_1g.10gb: ['{files[0]}', '{files[1]}']}}",
    )  # fmt: skip
    assert lines(cluster) == [f"NodeName=gpu-[1-2] Name=gpu Type=h100_1g.10gb MultipleFiles={file}" for file in files]
    assert cluster.nodes["gpu-1"].nvidia_minors == [0]


def test_a_testbed_lists_device_files_in_place_of_nvmls(tmp_path: Path) -> None:
    cluster = slices(tmp_path)
    twin = stand_in(cluster, cgroup="v2")
    gres_lines = lines(twin)
    assert gres_lines[0] == "NodeName=gpu-1 Name=gpu Type=h100 File=/dev/nvidia0"
    assert gres_lines[1].endswith(
        "MultipleFiles=/dev/nvidia1,/dev/nvidia-caps/nvidia-cap1,/dev/nvidia-caps/nvidia-cap2"
    )
    # seven slices are of one GPU, the others of the next
    assert [line.count("=/dev/nvidia2,") for line in gres_lines] == [0] * 8 + [1, 1]
    made = fake_devices(twin, twin.nodes["gpu-1"])
    assert len(made) == len(set(made.values())) == 3 + 2 * 9
    assert set(",".join(line.rpartition("=")[2] for line in gres_lines).split(",")) == made.keys()


def test_a_testbed_allows_each_fake_device_file(tmp_path: Path) -> None:
    for number, (types, gpus) in enumerate((
        ("mi210: {models: [MI210], vendor: amd}", "gpus: {mi210: 8}"),
        (f"h100: {{models: [H100]}}\n  {SLICE}, autodetect: nvml}}", "gpus: {h100_1g.10gb: 3}"),
        (TYPE, GPUS),
    )):  # fmt: skip
        twin = stand_in(inventory(tmp_path / str(number), types, gpus), cgroup="v2")
        spec = spec_of(twin)
        box = next(container for container in spec.containers if container.name == "gpu-1")
        words = create(spec, box, image="x", cgroups="v2", nameservers=(), public_key="")
        for minor in fake_devices(twin, twin.nodes["gpu-1"]).values():
            assert f"c 195:{minor} rwm" in words


def test_slices_that_nvml_detects_are_not_counted_by_the_health_check(tmp_path: Path) -> None:
    cluster = inventory(tmp_path, f"h100: {{models: [H100]}}\n  {SLICE}, autodetect: nvml}}", "gpus: {h100_1g.10gb: 9}")
    node = cluster.nodes["gpu-1"]
    assert not has_check(cluster, node)
    assert "gpus" not in settings(cluster, node)


def test_gpus_of_amd_are_render_nodes_and_have_no_nvidia_driver(tmp_path: Path) -> None:
    cluster = inventory(tmp_path, "mi210: {models: [MI210], vendor: amd}", "gpus: {mi210: 8}")
    node = cluster.nodes["gpu-1"]
    assert lines(cluster) == ["NodeName=gpu-[1-2] Name=gpu Type=mi210 File=/dev/dri/renderD[128-135]"]
    assert "/dev/nvidia" not in gres_conf(cluster)
    assert not has_check(cluster, node)
    assert driver_for(cluster, node) is None


def test_gpus_of_intel_are_detected_by_oneapi(tmp_path: Path) -> None:
    cluster = inventory(tmp_path, "max: {models: [Max 1550], vendor: intel, autodetect: oneapi}", "gpus: {max: 8}")
    assert lines(cluster) == ["NodeName=gpu-[1-2] AutoDetect=oneapi"]


def test_a_node_of_two_types_lists_the_device_files_of_each(tmp_path: Path) -> None:
    cluster = inventory(
        tmp_path, f"{TYPE}\n  v100: {{models: [V100]}}",
        "gpus: {a40: 2, v100: 2}, devices: {a40: [/dev/nvidia0, /dev/nvidia3], v100: [/dev/nvidia1, /dev/nvidia2]}",
    )  # fmt: skip
    assert lines(cluster) == [
        "NodeName=gpu-[1-2] Name=gpu Type=a40 File=/dev/nvidia[0,3]",
        "NodeName=gpu-[1-2] Name=gpu Type=v100 File=/dev/nvidia[1-2]",
    ]


@pytest.mark.parametrize("name", ["scratch", "gpu-vram"])
def test_other_resources_of_a_site_are_only_counted(name: str, tmp_path: Path) -> None:
    cluster = inventory(tmp_path, TYPE, f"{GPUS}, gres: {{{name}: 500}}")
    assert f"NodeName=gpu-[1-2] Name={name} Count=500 Flags=CountOnly" in lines(cluster)
    text = slurm_conf(cluster)
    assert f"GresTypes=gpu,{name}\n" in text
    assert f" Gres=gpu:a40:8,{name}:500 " in text
    assert f"AccountingStorageTRES=gres/gpu,gres/gpu:a40,gres/{name}\n" in text


def test_a_model_with_two_memory_sizes_has_a_feature_for_each(tmp_path: Path) -> None:
    cluster = inventory(tmp_path, TYPE, f"{GPUS}, gpu_memory: {{a40: 80G}}")
    assert cluster.nodes["gpu-1"].features == ("a40", "a40_80g")


def test_a_rehearsal_lists_device_files_in_place_of_autodetection(tmp_path: Path) -> None:
    cluster = slices(tmp_path)
    production = compiled(cluster)
    place = place_of(cluster, "24.11")
    table = differences(place)
    twin = applied(production.files, table)
    text = twin["/etc/slurm/gres.conf"]
    assert "AutoDetect" not in text
    assert text.count("Type=h100_1g.10gb MultipleFiles=/dev/nvidia1,/dev/nvidia-caps/nvidia-cap") == 7
    assert unnamed(production.files, twin, table) == []
    made = tree(cluster, {})
    for path in {
        word for line in text.splitlines() if "iles=" in line for word in line.partition("iles=")[2].split(",")
    }:
        assert f"mknod -m 666 {path} c 195 " in made
    assert "mkdir -p /dev/nvidia-caps\n" in made


def test_guessed_device_files_are_not_counted_by_the_health_check(tmp_path: Path) -> None:
    """Only the driver knows the device files of slices: if they were counted, they would drain a healthy node."""
    slices(tmp_path / "slices")
    health = ("scheduler:", "slurm: {health: {}}\nscheduler:")
    cluster = changed(tmp_path / "slices", tmp_path / "health", health)
    node = cluster.nodes["gpu-1"]
    assert sum(device.is_guess for device in node.devices) == 9
    assert len({minor for device in node.devices for minor in device.minors}) > 1
    assert settings(cluster, node)["gpus"]["count"] == 1
