"""Whether a node needs a reboot, and a reboot through Slurm, or by the node itself if Slurm refuses it."""

import pytest
from fake_controller import FakeController
from inventories import INVENTORY, cluster_at

from gpupool.errors import UsageError
from gpupool.remote.controller import RefusedError
from gpupool.testbed.overlay import stand_in
from gpupool.upkeep.reboot import Boot, boots, ensure_can_reboot, reboot


def test_a_node_has_the_time_of_its_boot_and_the_reason_for_a_reboot(fake: FakeController) -> None:
    fake.needs["gpu-1"] = "packages need a reboot"
    at = fake.slurm.nodes["gpu-1"].booted
    found = boots(fake, fake.target.cluster.having("compute"))
    assert found == {"gpu-1": Boot(at, "packages need a reboot"), "gpu-2": Boot(at)}


def test_a_node_that_does_not_answer_has_no_boot_and_delays_no_other(fake: FakeController) -> None:
    fake.silent.add("gpu-1")
    found = boots(fake, fake.target.cluster.having("compute"))
    assert found["gpu-1"] is None
    assert found["gpu-2"]


def test_slurm_reboots_the_node_and_resumes_it(fake: FakeController) -> None:
    node = fake.target.cluster.nodes["gpu-1"]
    reboot(fake, node, "maintain")
    (act,) = fake.acts()
    assert act == "scontrol reboot ASAP nextstate=resume 'reason=gpupool: maintain: reboot' gpu-1"
    before = fake.slurm.nodes["gpu-1"].booted
    fake.clock.sleep(5)
    assert "REBOOT_ISSUED" in fake.slurm.nodes["gpu-1"].flags
    fake.clock.sleep(600)
    assert fake.slurm.nodes["gpu-1"].booted > before
    assert fake.slurm.nodes["gpu-1"].flags == []


def test_if_slurm_refuses_the_node_reboots_itself(fake: FakeController) -> None:
    fake.refused["^scontrol reboot"] = "RebootProgram is not set"
    reboot(fake, fake.target.cluster.nodes["gpu-1"], "maintain")
    assert fake.asked[-1] == ("gpu-1", "systemctl reboot")


def test_a_connection_lost_in_the_reboot_is_no_failure_and_a_refusal_is_one(fake: FakeController) -> None:
    fake.refused["^scontrol reboot"] = "RebootProgram is not set"
    fake.silent.add("gpu-1")
    reboot(fake, fake.target.cluster.nodes["gpu-1"], "maintain")
    fake.silent.clear()
    fake.refused["^systemctl"] = "Interactive authentication required"
    with pytest.raises(RefusedError, match="Interactive authentication required"):
        reboot(fake, fake.target.cluster.nodes["gpu-1"], "maintain")


def test_containers_are_not_asked_to_reboot() -> None:
    """They only stop; machines beside them reboot."""
    cluster = stand_in(cluster_at(INVENTORY / "example"), cgroup="v2", machines=("rtx-01",))
    machine, box = cluster.nodes["rtx-01"], cluster.nodes["a40-01"]
    ensure_can_reboot(cluster, [machine])
    with pytest.raises(UsageError, match=r"a40-01: a container of a testbed does not reboot .*--vm a40-01"):
        ensure_can_reboot(cluster, [machine, box])
