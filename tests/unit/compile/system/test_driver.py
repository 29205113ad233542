"""The packages and pins of a node's driver."""

import json
from pathlib import Path

import inventories
import pytest
from inventories import cluster_at

from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.system.driver import CHECK, NOUVEAU, PINS, SETTINGS, driver_for
from gpupool.compile.system.driver_packages import from_distribution, from_repository
from gpupool.compile.system.packages import packages_for
from gpupool.compile.units import units
from gpupool.distributions.tables import distribution
from gpupool.nvidia.tables import branches, distributions
from gpupool.testbed.overlay import stand_in

TRIXIE = distribution("trixie")
EXAMPLE = cluster_at(inventories.INVENTORY / "example")


def text(cluster: Cluster, node: str, path: str) -> str:
    (file,) = (file for file in files_of(cluster, cluster.nodes[node], "driver") if file.path == path)
    return file.text


def test_each_driver_of_debian_has_its_package_names() -> None:
    newest = from_distribution(TRIXIE, "550", "proprietary", None)
    assert newest.held[:3] == ("nvidia-kernel-dkms", "nvidia-smi", "libcuda1")
    older = from_distribution(TRIXIE, "535", "proprietary", None)
    assert older.held[:3] == ("nvidia-tesla-535-kernel-dkms", "nvidia-tesla-535-smi", "libnvidia-tesla-535-cuda1")
    assert "nvidia-tesla-535-alternative" in newest.instead
    assert "nvidia-alternative" in older.instead


def test_the_other_kernel_module_is_removed() -> None:
    closed, open_ = (from_distribution(TRIXIE, "550", module, None) for module in ("proprietary", "open"))
    assert open_.held[0] == "nvidia-open-kernel-dkms" in closed.instead
    assert closed.held[0] == "nvidia-kernel-dkms" in open_.instead


def test_the_drivers_of_ubuntu_have_the_branch_in_each_name() -> None:
    driver = from_distribution(distribution("ubuntu-24.04"), "580", "open", None)
    assert driver.held == ("nvidia-headless-580-server-open", "nvidia-utils-580-server", "libnvidia-encode-580-server")
    assert driver.beside == ("linux-headers-generic", "nvidia-modprobe")
    assert driver.instead == (
        "nvidia-headless-550-server",
        "nvidia-headless-550-server-open",
        "nvidia-headless-580-server",
    )
    assert driver.prefix == "580."


def test_nvswitch_brings_the_fabric_manager_of_the_driver(tmp_path: Path) -> None:
    software = "software: {distribution: ubuntu-24.04, cuda: {where: '@compute', driver_branch: '550'}}\nscheduler:"
    closed = ("access: {keys: homes}", "access: {keys: homes, compute_ssh: none}")
    change = (("hardware:\n  box: {", "hardware:\n  box: {nvswitch: true, "), ("scheduler:", software), closed)
    cluster = inventories.changed(inventories.SMALL, tmp_path / "own", *change)
    node = cluster.nodes["gpu-1"]
    wanted = driver_for(cluster, node)
    assert wanted is not None
    assert wanted.held[-1] == "nvidia-fabricmanager-550"
    assert "nvidia-fabricmanager.service" in units(cluster, node)
    after = text(cluster, "gpu-1", "/etc/systemd/system/slurmd.service.d/gpupool-gpus.conf")
    assert "After=gpupool-gpus.service nvidia-persistenced.service nvidia-fabricmanager.service\n" in after


@pytest.mark.parametrize("system", list(distributions()))
def test_no_driver_of_a_distribution_removes_its_own_packages(system: str) -> None:
    for branch in distributions()[system].branches:
        driver = from_distribution(distribution(system), branch, "proprietary", None)
        assert not {*driver.held, *driver.beside} & set(driver.instead)


@pytest.mark.parametrize("branch", ["460", "550", "580", "620"])
@pytest.mark.parametrize("module", ["open", "proprietary"])
def test_no_driver_of_nvidia_removes_its_own_packages(branch: str, module: str) -> None:
    driver = from_repository(TRIXIE, branch, module, None)  # type: ignore[arg-type]
    assert not {*driver.held, *driver.beside} & set(driver.instead)


def test_nvidias_repository_has_other_package_names() -> None:
    assert from_repository(TRIXIE, "460", "proprietary", None).held == ("cuda-drivers-460",)
    assert from_repository(TRIXIE, "550", "open", None).held == ("nvidia-kernel-open-dkms", "cuda-drivers-550")
    assert from_repository(TRIXIE, "580", "open", None).held == ("nvidia-kernel-open-dkms", "nvidia-driver-cuda")


def test_a_branch_is_pinned_above_the_installed_version() -> None:
    assert "Pin: version 550.*\nPin-Priority: 1001\n" in text(EXAMPLE, "a40-01", PINS)


@pytest.mark.promise("SKY-182")
def test_skynets_pin_is_the_driver_of_cuda_11_2() -> None:
    assert "Pin: version 460.*\n" in text(cluster_at(inventories.INVENTORY / "skynet"), "a40-01", PINS)
    assert branches()["460"].cuda == "11.2"


def test_of_an_unknown_model_only_the_number_is_compared(tmp_path: Path) -> None:
    cluster = inventories.changed(inventories.SMALL, tmp_path, ("models: [A40]", "models: [Trial Board 7]"))
    settings = json.loads(text(cluster, "gpu-1", SETTINGS))
    assert settings["gpus"] == {"a40": {"count": 8, "models": [".*"]}}


def test_an_exact_version_is_pinned_above_the_rest_of_its_branch(tmp_path: Path) -> None:
    replaced = ('driver_branch: "550"\n    cuda: "12.4"', 'driver_branch: "550"\n    version: 550.163.01-2')
    cluster = inventories.changed(inventories.INVENTORY / "example", tmp_path, replaced)
    pins = text(cluster, "a40-01", PINS)
    assert pins.index("Pin: version 550.163.01-2\nPin-Priority: 1002\n") < pins.index("Pin: version 550.163.01*\n")


def test_nouveau_is_blocked() -> None:
    assert "blacklist nouveau\n" in text(EXAMPLE, "a40-01", NOUVEAU)


def test_every_gpu_has_its_device_file_before_slurmd() -> None:
    unit = text(EXAMPLE, "a40-01", "/etc/systemd/system/gpupool-gpus.service")
    assert "ExecStart=/usr/bin/nvidia-modprobe -c0 -c1 -c2 -c3 -u\n" in unit
    drop_in = text(EXAMPLE, "a40-01", "/etc/systemd/system/slurmd.service.d/gpupool-gpus.conf")
    assert "After=gpupool-gpus.service" in drop_in


def test_gpus_are_checked_on_nodes_whose_driver_an_admin_installed(tmp_path: Path) -> None:
    text_ = (inventories.INVENTORY / "example" / "software.yml").read_text()
    start = text_.index("  cuda:\n    where")
    cuda = text_[start : text_.index("  # nv_gpu: users")]
    cluster = inventories.changed(inventories.INVENTORY / "example", tmp_path, (cuda, ""))
    node = cluster.nodes["a40-01"]
    assert driver_for(cluster, node) is None
    paths = {file.path for file in files_of(cluster, node, "driver")}
    assert CHECK in paths
    assert PINS not in paths
    assert {"pciutils", "python3"} <= set(packages_for(cluster, node))


def test_a_testbed_has_neither_a_driver_nor_the_check() -> None:
    cluster = stand_in(EXAMPLE, cgroup="v2")
    assert [file for node in cluster.nodes.values() for file in files_of(cluster, node, "driver")] == []
