"""What the look at a node runs there: its arguments, and the script itself in a real shell."""

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import stand_ins
from fake_controller import FakeController

from gpupool.cluster.model import Cluster
from gpupool.compile.system.driver import CHECK
from gpupool.compile.system.storage import used_for
from gpupool.shell import shell_file
from gpupool.target import Target
from gpupool.upkeep.accept import accept

DEVICES = [f"/dev/nvidia{number}" for number in range(8)]


def looked(fake: FakeController) -> list[str]:
    (look,) = fake.did("^accept ")
    return shlex.split(look)


def test_the_look_is_told_of_gpus_and_of_programs_that_must_answer(fake: FakeController) -> None:
    cluster = fake.target.cluster
    accept(fake, [cluster.nodes["gpu-1"]], "maintain", "")
    assert looked(fake) == ["accept", CHECK, "10", "", "8", *DEVICES]


def test_the_look_is_told_of_mounts(fake: FakeController, stored: Cluster) -> None:
    node = next(node for node in stored.having("compute") if used_for(stored, node))
    fake.lead_to(Target(stored, None, {}))
    fake.slurm.add(node)
    accept(fake, [node], "maintain", "")
    _, check, seconds, _, count, *rest = looked(fake)
    assert (check, seconds) == (CHECK, "10")
    assert rest[int(count) :] == [mount.path for mount in used_for(stored, node)]


def look(folder: Path, *arguments: str, slurmd: str = "exit 0") -> list[str]:
    """Run the script with these arguments; return the problems that it prints."""
    stand_ins.put({"systemctl": slurmd, "docker": '[ "$1" = info ] && exit 1'}, folder / "bin")
    text = shell_file("gpupool.upkeep", "accept.sh")
    environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", "-c", text, "accept", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    clock, *problems = done.stdout.splitlines()
    assert clock.startswith("clock 1")
    return problems


def test_a_sound_node_has_no_problems(tmp_path: Path) -> None:
    assert look(tmp_path, "/nonexistent", "10", "", "1", "/dev/null", "/proc") == []


def test_each_problem_is_a_line(tmp_path: Path) -> None:
    stand_ins.put({"gpus": "echo 1 of 8 a40 missing"}, tmp_path / "programs")
    arguments = (str(tmp_path / "programs" / "gpus"), "10", "docker", "2", "/dev/null", "/dev/none-1", "/nonexistent")
    assert sorted(look(tmp_path, *arguments, slurmd="exit 3")) == [
        "problem /nonexistent is not mounted",
        "problem /nonexistent: No such file or directory",
        "problem 1 of 8 a40 missing",
        "problem docker info fails",
        "problem no device file /dev/none-1",
        "problem slurmd does not run",
    ]


def test_a_directory_that_is_no_mount_is_a_problem(tmp_path: Path) -> None:
    assert look(tmp_path, "/nonexistent", "10", "", "0", str(tmp_path)) == [f"problem {tmp_path} is not mounted"]


def test_without_files_that_are_known_none_are_looked_for(fake: FakeController) -> None:
    node = fake.target.cluster.nodes["gpu-1"]
    devices = tuple(replace(device, autodetect="nvml") for device in node.devices)
    accept(fake, [replace(node, devices=devices)], "maintain", "")
    assert looked(fake) == ["accept", CHECK, "10", "", "0"]
    (job,) = fake.did("^srun")
    assert job.endswith("python3 -I - cuda 8")


def test_the_look_is_told_which_container_programs_must_answer(
    fake: FakeController, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("docker_on", "singularity_on"):
        monkeypatch.setattr(f"gpupool.upkeep.accept.{name}", lambda cluster, node: True)
    accept(fake, [fake.target.cluster.nodes["gpu-1"]], "maintain", "")
    assert looked(fake)[3] == "docker singularity"
