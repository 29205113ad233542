"""The look at a node: its arguments, and the script itself in a real shell."""

import shlex
from dataclasses import replace

import pytest
from fake_controller import FakeController

from gpupool.cluster.model import Cluster
from gpupool.compile.system.driver import CHECK
from gpupool.compile.system.storage import used_for
from gpupool.node.look import Item, Look
from gpupool.target import Target
from gpupool.upkeep.accept import accept, faults

DEVICES = [f"/dev/nvidia{number}" for number in range(8)]


def looked(fake: FakeController) -> list[str]:
    (look,) = fake.did("^look ")
    return shlex.split(look)


def test_the_arguments_have_device_files_and_the_gpu_check(fake: FakeController) -> None:
    cluster = fake.target.cluster
    accept(fake, [cluster.nodes["gpu-1"]], "maintain", "")
    assert looked(fake) == [
        *("look", "10", "service", "slurmd", "gpus", CHECK),
        *(word for device in DEVICES for word in ("device", device)),
    ]


def test_the_arguments_have_the_mounts(fake: FakeController, stored: Cluster) -> None:
    node = next(node for node in stored.having("compute") if used_for(stored, node))
    fake.lead_to(Target(stored, None, {}))
    fake.slurm.add(node)
    accept(fake, [node], "maintain", "")
    words = looked(fake)
    mounts = [item for kind, item in zip(words[2::2], words[3::2], strict=True) if kind == "mount"]
    assert mounts == [mount.path for mount in used_for(stored, node)]


def test_without_known_device_files_none_are_checked(fake: FakeController) -> None:
    node = fake.target.cluster.nodes["gpu-1"]
    devices = tuple(replace(device, autodetect="nvml") for device in node.devices)
    accept(fake, [replace(node, devices=devices)], "maintain", "")
    assert looked(fake) == ["look", "10", "service", "slurmd", "gpus", CHECK]
    (job,) = fake.did("^srun")
    assert job.endswith("python3 -I - cuda 8")


def test_the_arguments_have_the_container_programs(fake: FakeController, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("docker_on", "singularity_on"):
        monkeypatch.setattr(f"gpupool.upkeep.accept.{name}", lambda cluster, node: True)
    accept(fake, [fake.target.cluster.nodes["gpu-1"]], "maintain", "")
    assert looked(fake)[-4:] == ["program", "docker", "program", "singularity"]


def test_each_fault_is_a_line_and_missing_devices_are_one() -> None:
    seen = Look(
        None,
        (
            Item("program", "docker", "info fails"),
            Item("mount", "/gone", "No such file or directory", mounted=False),
            Item("mount", "/fine"),
            Item("gpus", CHECK, "1 of 8 a40 missing"),
            Item("device", "/dev/nvidia1", "missing"),
            Item("device", "/dev/nvidia0", "missing"),
            Item("device", "/dev/nvidia2"),
            Item("service", "slurmd", "does not run"),
        ),
    )
    assert list(faults(seen)) == [
        "slurmd does not run",
        "no device file /dev/nvidia0 /dev/nvidia1",
        "1 of 8 a40 missing",
        "/gone: No such file or directory",
        "/gone is not mounted",
        "docker info fails",
    ]
