"""The GPU check that slurmd runs, with a fake nvidia-smi and lspci that print recorded texts."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import yaml
from shipped import ship

from gpupool.nvidia.names import pattern
from gpupool.programs.gpus import __main__ as program

PROGRAMS = Path(program.__file__).parents[1]
RECORDED = yaml.safe_load((Path(__file__).parent / "recorded.yml").read_text(encoding="utf-8"))
MODULE = RECORDED["from_version"][0]["text"]
#: Two in slots, from the recorded texts.
SLOTS = RECORDED["from_lspci"][0]["text"]
FIRST = "Quadro RTX 6000, GPU-86e60957-0cc5-7959-855b-28f0d7bac243, 00000000:73:00.0\n"
SECOND = "Quadro RTX 6000, GPU-96e60957-0cc5-7959-855b-28f0d7bac243, 00000000:D5:00.0\n"
MISMATCH = RECORDED["from_query"][3]["text"]
LOST = (
    "Unable to determine the device handle for GPU 0000:D5:00.0: GPU is lost. Reboot the system to recover this GPU\n"
)
Check = Callable[..., tuple[int, str]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Return a function that runs the check on a node with two Quadro RTX 6000 in its inventory."""

    def run(
        smi: str,
        smi_status: int = 0,
        slots: str = SLOTS,
        module: str = MODULE,
        count: int = 2,
        numbers: Mapping[str, int] | None = None,
        out_of_service: Sequence[int] = (),
        **declared: str,
    ) -> tuple[int, str]:
        declared = declared or {"rtx_6000": "Quadro RTX 6000"}
        gpus = {name: {"count": count // len(declared), "models": [pattern(model)]} for name, model in declared.items()}
        (tmp_path / "gpus.json").write_text(json.dumps({"gpus": gpus, "out_of_service": [*out_of_service]}))
        for address, minor in (numbers or {}).items():
            file = tmp_path / "proc/driver/nvidia/gpus" / address / "information"
            file.parent.mkdir(parents=True)
            file.write_text(f"Model: \t\t Quadro RTX 6000\nBus Location: \t {address}\nDevice Minor: \t {minor}\n")
        for name, text, status in (("nvidia-smi", smi, smi_status), ("lspci", slots, 0)):
            (tmp_path / f"{name}.txt").write_text(text)
            (tmp_path / name).write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/{name}.txt\nexit {status}\n")
            (tmp_path / name).chmod(0o755)
        version = tmp_path / "proc/driver/nvidia/version"
        version.parent.mkdir(parents=True, exist_ok=True)
        version.write_text(module)
        done = subprocess.run(
            ["/usr/bin/env", "python3", "-P", "-B", "-m", "gpus", tmp_path / "gpus.json", tmp_path / "proc"],
            env={"PYTHONPATH": f"{PROGRAMS}:{PROGRAMS.parents[1]}", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout

    return run


def test_gpus_as_declared_give_no_output(check: Check) -> None:
    assert check(FIRST + SECOND) == (0, "")


def test_a_gpu_that_the_driver_does_not_see_is_a_reason(check: Check) -> None:
    assert check(FIRST) == (
        1,
        "gpupool: the driver 384.98 does not see TU102GL [Quadro RTX 6000/8000] at 0000:d5:00.0; "
        "1 of 2 rtx_6000 missing\n",
    )


def test_a_gpu_that_fell_off_the_bus_is_a_reason_with_its_address(check: Check) -> None:
    status, line = check(FIRST + LOST, 15)
    assert status == 1
    assert line.startswith("gpupool: GPU 0000:d5:00.0: GPU is lost. Reboot the system to recover this GPU; ")


def test_a_gpu_that_has_left_its_slot_is_a_reason(check: Check) -> None:
    one = SLOTS.splitlines()[0]
    assert check(FIRST, slots=one) == (1, "gpupool: 1 of 2 rtx_6000 missing\n")


def test_gpus_of_another_type_are_a_reason(check: Check) -> None:
    line = "gpupool: 2 of 2 a40 missing; 2 Quadro RTX 6000, which is not a declared type\n"
    assert check(FIRST + SECOND, a40="A40") == (1, line)


def test_libraries_of_another_version_than_the_module_are_a_reason(check: Check) -> None:
    assert check(MISMATCH, 18) == (1, f"gpupool: nvidia-smi: {MISMATCH}")


@pytest.mark.parametrize("module", ["", "NVRM: no\n"])
def test_no_driver_is_a_reason(check: Check, module: str) -> None:
    assert check("", module=module) == (1, "gpupool: no NVIDIA driver is loaded\n")


def test_the_program_needs_only_the_standard_library(tmp_path: Path) -> None:
    ship("gpus", tmp_path)
    done = subprocess.run(
        ["python3", "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import gpus.__main__"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


BOTH = {"0000:73:00.0": 0, "0000:d5:00.0": 1}


@pytest.mark.parametrize(
    ("smi", "numbers"),
    [
        (FIRST + SECOND, BOTH),
        (FIRST, BOTH),
        (FIRST, {"0000:73:00.0": 0}),
        (FIRST + LOST, BOTH),
        (FIRST + LOST, {"0000:73:00.0": 0}),
    ],
    ids=["works", "unseen", "unseen since the boot", "lost", "lost since the boot"],
)
def test_a_gpu_out_of_service_has_no_faults(check: Check, smi: str, numbers: dict[str, int]) -> None:
    assert check(smi, count=1, numbers=numbers, out_of_service=[1]) == (0, "")


def test_another_gpu_than_the_one_out_of_service_is_a_reason(check: Check) -> None:
    status, line = check(FIRST + LOST, 15, count=1, numbers=BOTH, out_of_service=[0])
    assert (status, line) == (
        1,
        "gpupool: GPU 0000:d5:00.0: GPU is lost. Reboot the system to recover this GPU; "
        "the driver 384.98 does not see TU102GL [Quadro RTX 6000/8000] at 0000:d5:00.0; 1 of 1 rtx_6000 missing\n",
    )


def test_a_gpu_that_only_the_boot_has_lost_is_not_excused_twice(check: Check) -> None:
    status, _ = check("", count=1, numbers={}, out_of_service=[1])
    assert status == 1
