"""The scripts of the driver, run for real with fake apt, dpkg and kernel."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import stand_ins
import yaml

from gpupool.facts import driver as fact
from gpupool.facts.driver import DriverState
from gpupool.facts.script import END
from gpupool.operations import driver

STAND_INS = {
    "apt-get": 'echo "$*" >>"$STATE/asked"',
    "apt-cache": 'echo "nvidia:"; echo "  Installed: (none)"; echo "  Candidate: $(cat "$STATE/candidate")"',
    "apt-mark": 'echo "$*" >>"$STATE/asked"',
    "dpkg": "exit 0",
    "flock": "exit 0",
    "systemctl": 'echo "systemctl $*" >>"$STATE/asked"; case $* in *is-active*) exit "$(cat "$STATE/active")";; esac',
    "modprobe": 'echo "modprobe $*" >>"$STATE/asked"',
    "scontrol": 'echo "NodeName=a40-01 Arch=x86_64 State=$(cat "$STATE/node") ThreadsPerCore=1"',
    "ps": 'cat "$STATE/processes"',
}
RECORDED = yaml.safe_load((Path(__file__).parents[1] / "unit/gpus/recorded.yml").read_text(encoding="utf-8"))
PACKAGES = "installed 550.163.01-2 nvidia-smi\ninstalled 570.1-1 nvidia-modprobe\nnot-installed 550.163.01-2 libcuda1\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return an environment with the fake commands in PATH, and the folder of their answers."""
    stand_ins.put(STAND_INS, tmp_path)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "STATE": str(tmp_path)}


def run(script: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    folder = environ["STATE"]
    for path in ("/usr/sbin/policy-rc.d", "/var/log/gpupool-packages.log", "/var/lib/gpupool-packages.lock"):
        script = script.replace(path, f"{folder}/{path.rpartition('/')[2]}")
    script = script.replace("/proc/driver", f"{folder}/driver").replace("/sys/module", f"{folder}/module")
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, env=environ)


def asked(environ: dict[str, str]) -> list[str]:
    file = Path(environ["STATE"]) / "asked"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize("candidate", ["560.35.05-1", "(none)"])
def test_another_branch_than_the_pinned_one_is_never_installed(candidate: str, environ: dict[str, str]) -> None:
    (Path(environ["STATE"]) / "candidate").write_text(candidate)
    done = run(f"prefix=550.\n{driver._PRELUDE}\noffered nvidia-smi\nchange nvidia-smi", environ)
    assert done.returncode == 1
    assert done.stderr.strip() == f"no version 550.* of nvidia-smi in the package lists, only {candidate}"
    assert asked(environ) == []


def test_held_packages_are_changed_and_conflicting_ones_removed(environ: dict[str, str]) -> None:
    (Path(environ["STATE"]) / "candidate").write_text("550.163.01-2")
    done = run(
        f"prefix=550.\n{driver._PRELUDE}\noffered nvidia-smi\nchange nvidia-smi nvidia-open-kernel-dkms-", environ
    )
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = asked(environ)
    assert "--allow-change-held-packages --allow-downgrades -- nvidia-smi nvidia-open-kernel-dkms-" in line


def test_only_packages_of_the_drivers_version_are_held(environ: dict[str, str]) -> None:
    query = Path(environ["STATE"]) / "dpkg-query"
    query.write_text(f"#!/bin/sh\nprintf '{PACKAGES}'\n")
    query.chmod(0o755)
    assert run(f"prefix=550.\n{driver._PRELUDE}\nhold '*nvidia*'", environ).returncode == 0
    assert asked(environ) == ["hold -- nvidia-smi"]


def test_a_module_is_loaded_and_its_daemon_started(environ: dict[str, str]) -> None:
    (Path(environ["STATE"]) / "module/nouveau").mkdir(parents=True)
    assert run(f"prefix=550.\n{driver._PRELUDE}\nreload", environ).returncode == 0
    assert asked(environ) == [
        "systemctl daemon-reload",
        "modprobe -r nouveau",
        "modprobe nvidia",
        "systemctl restart gpupool-gpus.service",
        "systemctl enable --now nvidia-persistenced",
        "systemctl enable --now nvidia-fabricmanager",
    ]


def look(environ: dict[str, str]) -> DriverState:
    done = run(f"set -- a40-01 nvidia-smi\n{fact._LOOK}\necho {END}", environ)
    state = fact.Driver().process(done.stdout.splitlines())
    assert state
    return state


@pytest.mark.parametrize("case", RECORDED["from_version"], ids=lambda case: case["origin"])
def test_the_version_of_a_loaded_module_is_read(case: dict[str, Any], environ: dict[str, str]) -> None:
    folder = Path(environ["STATE"])
    for name in ("processes", "active", "node"):
        (folder / name).write_text("0")
    (folder / "driver/nvidia").mkdir(parents=True)
    (folder / "driver/nvidia/version").write_text(case["text"])
    assert look(environ).loaded == case["gives"]["version"]


def test_jobs_and_the_state_of_a_node_are_read(environ: dict[str, str]) -> None:
    folder = Path(environ["STATE"])
    (folder / "processes").write_text("/sbin/init\nslurmstepd: [12.batch]\nslurmstepd: [12.0]\nslurmstepd infinity\n")
    (folder / "active").write_text("0")
    (folder / "node").write_text("MIXED")
    (folder / "driver/nvidia").mkdir(parents=True)
    version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025\n"
    (folder / "driver/nvidia/version").write_text(version)
    state = look(environ)
    assert (state.jobs, state.loaded, state.open, state.nouveau) == (("12",), "550.163.01", True, False)
    (folder / "node").write_text("IDLE+DRAIN")
    assert not look(environ).open


def test_without_slurmd_no_job_can_begin(environ: dict[str, str]) -> None:
    folder = Path(environ["STATE"])
    for name, text in (("processes", ""), ("active", "3"), ("node", "IDLE")):
        (folder / name).write_text(text)
    state = look(environ)
    assert (state.jobs, state.loaded, state.open) == ((), None, False)
