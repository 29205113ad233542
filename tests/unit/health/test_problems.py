"""The faults that a node finds in itself: for real if this machine allows it, otherwise with fake commands."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpupool.programs.health import look, mounts

Command = Callable[[str, str], None]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return a function that puts a command before all others in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def put(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return put


# mounts


def test_a_mount_that_answers_is_no_problem(tmp_path: Path) -> None:
    assert mounts.problems(["/", "/proc"], tmp_path) == []


def test_a_missing_mount_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    wrong = mounts.problems(["/proc", f"{tmp_path}/empty", f"{tmp_path}/none"], tmp_path)
    assert wrong == [f"{tmp_path}/empty is not mounted", f"{tmp_path}/none is not mounted"]


def test_an_automount_without_its_file_system_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "31 1 0:30 / /proc rw,relatime shared:12 - autofs systemd-1 rw\n"
        "32 1 0:31 / /a\\040b rw,relatime - nfs4 server:/x rw\n"
    )
    monkeypatch.setattr(mounts, "MOUNTINFO", table)
    assert mounts.problems(["/proc", "/a b"], tmp_path) == ["/proc is not mounted", "/a b cannot be read"]


def test_a_server_that_hangs_blocks_one_process(command: Command, tmp_path: Path) -> None:
    """A process that waits in the kernel cannot be killed, and keeps its lock; here the test keeps it."""
    started = tmp_path / "started"
    command("stat", f"echo x >> {started}; exec sleep infinity")
    with (tmp_path / "%2Fproc.lock").open("w") as hanging:
        fcntl.flock(hanging, fcntl.LOCK_EX)
        for _ in range(3):
            assert mounts.problems(["/proc"], tmp_path) == ["/proc does not answer within 10 s"]
    assert not started.exists(), "an earlier look still hangs, so there is no other"


def test_a_check_that_does_not_end_is_not_waited_for(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("stat", "exec sleep infinity")
    monkeypatch.setattr(mounts, "PATIENCE", 1.0)
    assert mounts.problems(["/proc"], tmp_path) == ["/proc does not answer within 1 s"]


# GPUs


def test_gpus_are_counted_and_their_driver_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "DEVICES", tmp_path)
    (tmp_path / "nvidia0").write_text("no device")
    (tmp_path / "nvidiactl").symlink_to("/dev/null")
    program = tmp_path / "gpus"
    assert look.gpus(0, str(program), tmp_path) == []
    assert look.gpus(8, str(program), tmp_path) == ["0 of 8 GPUs have a device file"]
    program.write_text("#!/bin/sh\necho gpupool: GPU 3 has fallen off the bus\necho\necho GPU 4 is an A40\nexit 1\n")
    assert look.gpus(0, str(program), tmp_path) == [], "it is not to be run yet"
    program.chmod(0o755)
    assert look.gpus(0, str(program), tmp_path) == ["GPU 3 has fallen off the bus", "GPU 4 is an A40"]


def test_a_gpu_out_of_service_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "DEVICES", tmp_path)
    monkeypatch.setattr(look, "_is_gpu", lambda path: True)
    for number in (0, 1, 3):
        (tmp_path / f"nvidia{number}").touch()
    program = str(tmp_path / "gpus")
    assert look.gpus(3, program, tmp_path, [2]) == []
    assert look.gpus(3, program, tmp_path, [3]) == ["2 of 3 GPUs have a device file"]


def test_a_driver_that_hangs_is_a_problem_and_blocks_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost GPU leaves an unkillable nvidia-smi behind."""
    monkeypatch.setattr(look, "DEVICES", tmp_path)
    monkeypatch.setattr(look, "PATIENCE", 1.0)
    program = tmp_path / "gpus"
    program.write_text("#!/bin/sh\nexec sleep infinity\n")
    program.chmod(0o755)
    assert look.gpus(0, str(program), tmp_path) == ["the GPU driver does not answer within 1 s"]
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    with (tmp_path / "gpus.lock").open("w") as hanging:
        fcntl.flock(hanging, fcntl.LOCK_EX)
        assert look.gpus(0, str(program), tmp_path) == ["the GPU driver does not answer within 1 s"]
    assert not (tmp_path / "started").exists()


# disks and the clock


def test_full_file_systems_are_named_once(tmp_path: Path) -> None:
    here = [str(tmp_path), f"{tmp_path}/none", str(tmp_path)]
    assert look.disk(here, 0) == []
    (wrong,) = look.disk(here, 1 << 40)
    assert wrong.startswith(f"{tmp_path} has ")
    assert wrong.endswith(f" MiB free, less than {1 << 40}")


@pytest.mark.parametrize(
    ("script", "wrong"),
    [("echo yes", []), ("echo no", ["the clock is not synchronised"]), ("exit 1", []), ("echo ''", [])],
)
def test_a_clock_that_is_not_synchronised_is_named(command: Command, script: str, wrong: list[str]) -> None:
    command("timedatectl", f'[ "$*" = "show --property=NTPSynchronized --value" ] || exit 2\n{script}')
    assert look.clock() == wrong
