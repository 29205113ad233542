"""The GPUs match the inventory, and the loaded driver matches the wanted and the installed one."""

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system.driver import CHECK, driver_for, has_check
from gpupool.facts.driver import Driver
from gpupool.verify.asked import asked
from gpupool.verify.looks import NodeLook
from gpupool.verify.scope import not_applicable, not_checked, only_if

pytestmark = pytest.mark.manages("driver")


def test_gpus_are_those_of_the_inventory(cluster: Cluster, node: Node, seen: NodeLook) -> None:
    only_if(node.has("compute") and node.devices)
    if cluster.drivers.gpu == "fake":
        not_checked("the GPUs of a testbed are device files without hardware")
    if not has_check(cluster, node):
        not_checked("slurmd alone finds these GPUs, with its library")
    assert seen.gpus, f"{CHECK} is missing (`gpupool apply` installs it)"
    faults = [check.fault for check in seen.gpus if check.fault]
    assert not faults, "; ".join(faults)


@pytest.mark.manages("gpu")
def test_device_files_of_gpus_exist(cluster: Cluster, node: Node, seen: NodeLook) -> None:
    only_if(seen.devices)
    missing = ", ".join(device.item for device in seen.devices if device.fault)
    remedy = (
        "`gpupool apply` creates them" if cluster.drivers.gpu == "fake" else "`nvidia-modprobe -u -c NUMBER`, or reboot"
    )
    assert not missing, f"missing: {missing} (slurmd does not start without them; {remedy})"


def test_the_wanted_driver_is_installed_and_loaded(cluster: Cluster, node: Node, host: Host) -> None:
    wanted = driver_for(cluster, node)
    if wanted is None:
        not_applicable()
    state = asked(host, Driver, node=node.slurm_name, packages=wanted.held)
    if state is None:
        pytest.fail("the node does not say which driver it has")
    versions = {name: state.installed.get(name, "not installed") for name in wanted.held}
    wrong = [f"{name} is {now}" for name, now in versions.items() if not now.startswith(wanted.prefix)]
    assert not wrong, f"wanted is {wanted.prefix}*: {', '.join(wrong)} (apply changes it when the node is drained)"
    free = [name for name in versions if name not in state.held]
    assert not free, f"an upgrade of the system would change the driver: {', '.join(free)} not held"
    installed = versions[wanted.held[0]].rpartition("-")[0]
    assert state.loaded == installed, (
        f"driver {state.loaded or 'none'} is loaded, {installed} is installed (reboot the node when it has no jobs)"
    )


def test_gpus_stay_initialized_between_jobs(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(driver_for(cluster, node))
    assert host.run("systemctl is-active nvidia-persistenced").rc == 0, "nvidia-persistenced does not run"
