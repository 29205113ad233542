"""The testbed's replacement for NVIDIA's hook: given a container as by docker, it creates the device files."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from gpupool.shell import shell_file

NODE_HAS = ("nvidia0", "nvidia1", "nvidia2", "nvidia3", "nvidiactl")


def hooked(folder: Path, asked: str) -> tuple[int, list[str], str]:
    """Return the exit status, the created device files, and its last log line or its error."""
    devices, bundle = folder / "dev", folder / "bundle"
    for path in (devices, bundle):
        path.mkdir()
    for name in NODE_HAS:
        (devices / name).touch()
    (folder / "nsenter").write_text('#!/bin/sh\nshift 3; echo "$*" >> "$STATE/made"\n')
    smi = "GPU 0: A40 (UUID: GPU-aa-0)\nGPU 3: A40 (UUID: GPU-aa-3)"
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\ncat <<'END'\n{smi}\nEND\n")
    for name in ("nsenter", "nvidia-smi"):
        (folder / name).chmod(0o755)
    env = ["PATH=/usr/bin", "NVIDIA_VISIBLE_DEVICES=all", f"NVIDIA_VISIBLE_DEVICES={asked}", "X=1"]
    config = {"ociVersion": "1.1.0", "process": {"env": env, "cwd": "/"}, "root": {"path": "/var/lib/docker/merged"}}
    (bundle / "config.json").write_text(json.dumps(config, separators=(",", ":")))
    state = {"ociVersion": "1.1.0", "id": "abc12", "status": "creating", "pid": 77, "bundle": str(bundle)}
    text = shell_file("gpupool.testbed", "recipe_docker_hook.sh")
    # the node's own; those of the container are below its root
    text = text.replace('"/dev/nvidia$number"', f'"{devices}/nvidia$number"').replace(
        "/dev/nvidia[", f"{devices}/nvidia["
    )
    text = text.replace("#/dev/nvidia", f"#{devices}/nvidia").replace("/var/log/", f"{folder}/")
    done = subprocess.run(
        ["sh", "-c", text],
        input=json.dumps(state, separators=(",", ":")),
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": f"{folder}:{os.environ['PATH']}", "STATE": str(folder)},
    )
    made, note = folder / "made", folder / "nvidia-container-runtime-hook.log"
    lines = made.read_text().splitlines() if made.exists() else []
    return done.returncode, lines, (note.read_text() if note.exists() else done.stderr).strip()


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ("1,2", "1 2"),
        ("GPU-aa-3", "3"),
        ("all", "0 1 2 3"),
        ("void", ""),
    ],
)
def test_exactly_the_requested_devices_are_created(asked: str, numbers: str, tmp_path: Path) -> None:
    code, made, note = hooked(tmp_path, asked)
    assert code == 0, note
    of = "mknod -m 666 /var/lib/docker/merged/dev/nvidia{0} c 195 {0}"
    assert made == [of.format(number) for number in numbers.split()]
    assert note.startswith("abc12 asked=")
    assert note.endswith(f"made={numbers}")


@pytest.mark.parametrize("asked", ["9", "GPU-of-another-node"])
def test_a_missing_gpu_fails_the_container(asked: str, tmp_path: Path) -> None:
    code, made, message = hooked(tmp_path, asked)
    assert (code, made) == (1, [])
    assert message == f"nvidia-container-cli: device error: {asked}: unknown device"
