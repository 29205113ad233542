"""Nodes of one cluster may run several distributions, by which their files, packages and units differ."""

from pathlib import Path

import inventories
import pytest

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile.system.driver import driver_for
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.slurmd import compute
from gpupool.compile.system.ssh import settings
from gpupool.compile.units import units
from gpupool.errors import TestbedError
from gpupool.testbed.overlay import spec_of, stand_in

GPU_2 = "- {name: gpu-2, address: 10.90.2.2, hardware: box, gpus: {a40: 8}, distribution: resolute}"
MIXED = (
    ("[head, controller, database]}", "[head, controller, database], distribution: ubuntu-26.04}"),
    ('name: "gpu-[1-2]", address: "10.90.2.[1-2]"', 'name: gpu-1, address: "10.90.2.1"'),
    ("accounts:", f"  {GPU_2}\naccounts:"),
    ("scheduler:", "slurm: {version: '25.11'}\nsoftware: {distribution: sid, cuda: {where: '@compute'}}\nscheduler:"),
    ("box: {", "box: {distribution: debian-13, "),
)  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """Return a cluster with a controller on Ubuntu, and compute nodes on Debian by their hardware, except one."""
    return load(inventories.copied(inventories.SMALL, tmp_path_factory.mktemp("site") / "mixed", *MIXED))


def test_a_node_goes_before_its_hardware_and_that_before_software(cluster: Cluster) -> None:
    assert {name: node.system.label for name, node in cluster.nodes.items()} == {
        "ctl": "ubuntu-26.04",
        "gpu-1": "debian-13",
        "gpu-2": "ubuntu-26.04",
    }


def test_each_node_gets_the_packages_and_units_of_its_distribution(cluster: Cluster) -> None:
    clocks = {"chrony", "systemd-timesyncd"}
    for name, clock in {"ctl": "chrony", "gpu-1": "systemd-timesyncd", "gpu-2": "chrony"}.items():
        node = cluster.nodes[name]
        assert clocks & {*packages_for(cluster, node)} == {clock}
        assert clocks & {unit.removesuffix(".service") for unit in units(cluster, node)} == {clock}


def test_the_default_driver_is_that_of_each_distribution(cluster: Cluster) -> None:
    debian, ubuntu = (driver_for(cluster, cluster.nodes[name]) for name in ("gpu-1", "gpu-2"))
    assert debian
    assert ubuntu
    assert "nvidia-kernel-dkms" in debian.held
    assert not {*debian.held} & {*ubuntu.held}
    assert any(name.startswith("nvidia-headless-") for name in ubuntu.held)


def test_sshd_gets_only_settings_that_its_release_knows(tmp_path: Path) -> None:
    old = (("box: {", "box: {distribution: noble, "), ("keys: homes", "keys: homes, compute_ssh: none"))
    cluster = load(inventories.copied(inventories.SMALL, tmp_path / "old", *old))
    with_penalties = {name for name, node in cluster.nodes.items() if "PerSourcePenalt" in settings(cluster, node)}
    assert with_penalties == {"ctl"}


def test_a_testbed_of_several_distributions_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=r"no image of Ubuntu 26\.04 for a testbed.*gpupool rehearse"):
        spec_of(stand_in(cluster, cgroup="v2"))
    proved = ("[head, controller, database]}", "[head, controller, database], distribution: sid}")
    mixed = load(inventories.copied(inventories.SMALL, tmp_path / "proved", proved))
    with pytest.raises(TestbedError, match="run one distribution, but the nodes have Debian sid and Debian trixie"):
        spec_of(stand_in(mixed, cgroup="v2"))


def test_kernel_headers_are_those_of_the_architecture(tmp_path: Path) -> None:
    drivers = ("scheduler:", "software: {cuda: {where: '@compute'}}\nscheduler:")
    arm = load(inventories.copied(inventories.SMALL, tmp_path / "arm", drivers, ("box: {", "box: {arch: aarch64, ")))
    driver = driver_for(arm, arm.nodes["gpu-1"])
    assert driver
    assert "linux-headers-arm64" in driver.beside
    assert "linux-headers-amd64" not in driver.beside


def test_slurmd_of_debian_12_starts_on_a_node_without_slurm_conf(tmp_path: Path) -> None:
    old = (("box: {", "box: {distribution: debian-12, "), ("keys: homes", "keys: homes, compute_ssh: none"))
    version = ("scheduler:", "slurm: {version: '22.05'}\nsoftware: {distribution: debian-12}\nscheduler:")
    for name, changes in (("debian-12", (*old, version)), ("debian-13", ())):
        cluster = load(inventories.copied(inventories.SMALL, tmp_path / name, *changes))
        (unit,) = (file.text for file in compute(cluster, cluster.nodes["gpu-1"]) if file.path.endswith("gpupool.conf"))
        assert ("\nConditionPathExists=\n" in unit) == (name == "debian-12"), unit
