"""The test job names device files that it cannot open, and passes if no GPU is requested."""

import subprocess
import sys
from pathlib import Path

from gpupool.upkeep import gpu_probe


def probe(*arguments: str) -> subprocess.CompletedProcess[str]:
    text = Path(gpu_probe.__file__).read_text(encoding="utf-8")
    command = [sys.executable, "-", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def test_device_files_that_open_are_no_problem(tmp_path: Path) -> None:
    (tmp_path / "nvidia0").touch()
    done = probe("files", "1", str(tmp_path / "nvidia0"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_missing_gpu_is_named(tmp_path: Path) -> None:
    (tmp_path / "nvidia0").touch()
    paths = [str(tmp_path / name) for name in ("nvidia0", "nvidia1")]
    done = probe("files", "2", *paths)
    assert done.returncode == 1
    assert done.stdout == (
        f"a job that has all 2 GPUs can open 1 of their device files: {paths[1]}: No such file or directory\n"
    )


def test_without_cuda_the_files_are_tried(tmp_path: Path) -> None:
    done = probe("cuda", "1", str(tmp_path / "none"))
    assert done.returncode == 1
