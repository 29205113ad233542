"""The script of an upgrade finds the release of a daemon, whatever the source of its package."""

import os
import subprocess
from pathlib import Path

import pytest
import stand_ins

from gpupool import operations
from gpupool.shell import shell_file


@pytest.mark.parametrize(
    ("listed", "release"),
    [
        ("ii  slurmdbd 24.11.5-4", "24.11"),
        ("ii  slurm-smd-slurmdbd 25.11.7-1", "25.11"),
        ("ii  slurmdbd 1:24.11.5-4", "24.11"),
        ("hi  slurmdbd 24.11.5-4", "24.11"),
        ("iU  slurm-smd-slurmdbd 25.11.7-1", "25.11"),
        # removed, with its settings left, or known only
        ("rc  slurmdbd 22.05.8-4", ""),
        ("un  slurmdbd ", ""),
        ("rc  slurmdbd 24.11.5-4\nii  slurm-smd-slurmdbd 25.11.7-1", "25.11"),
    ],
)
def test_the_release_is_that_of_the_installed_package(tmp_path: Path, listed: str, release: str) -> None:
    (tmp_path / "listed").write_text(f"{listed}\n")
    # prints the lines of the packages that are asked for, without their names
    program = 'shift 2; for name in "$@"; do sed -n "s/^\\(...\\) $name /\\1 /p" "$LISTED"; done; exit 1'
    stand_ins.put({"dpkg-query": program}, tmp_path / "bin")
    environ = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "LISTED": str(tmp_path / "listed")}
    script = f"set -eu\n{shell_file(operations.__name__, 'slurm_upgrade.sh')}\nrelease_of slurmdbd"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.strip() == release
