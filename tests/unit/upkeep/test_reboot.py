"""Whether a node needs a reboot, and a reboot through Slurm, or by the node itself if Slurm refuses it."""

import pytest
from fake_controller import FakeController

from gpupool.remote.controller import RefusedError
from gpupool.upkeep.reboot import Boot, boots, reboot


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
