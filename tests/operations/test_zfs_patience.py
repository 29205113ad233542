"""A pool is created although udev removes the links of its new partitions for a moment."""

import subprocess
from pathlib import Path

import pytest

from gpupool.shell import shell_file

PATIENT = shell_file("gpupool.operations.zfs", "zfs.sh")
LOST = "cannot create 'tank': one or more devices is currently unavailable"
# a fake zpool that fails a given number of times, and counts its calls
COMMANDS = """
zpool() { echo asked >>"$count"; [ "$(wc -l <"$count")" -gt "$failures" ] || { echo "$reason"; return 1; }; }
udevadm() { :; }; sleep() { :; }
try patiently zpool create tank mirror /dev/a /dev/b; wc -l <"$count"; printf '%s' "$failed"
"""


@pytest.mark.parametrize(
    ("failures", "reason", "asked", "failed"),
    [
        pytest.param("2", LOST, "3", "", id="a link that comes back"),
        pytest.param("2", "cannot create 'tank': no such pool or dataset", "3", "", id="both links"),
        pytest.param("9", LOST, "5", LOST, id="a disk that is lost"),
        pytest.param("9", "cannot create 'tank': permission denied", "1", "cannot create 'tank': permission denied",
                     id="anything else"),
    ],
)  # fmt: skip
def test_zpool_is_called_again_if_a_partition_had_no_link_yet(
    failures: str, reason: str, asked: str, failed: str, tmp_path: Path
) -> None:
    values = {"failures": failures, "reason": reason, "count": str(tmp_path / "count")}
    done = subprocess.run(["sh", "-c", PATIENT + COMMANDS], env=values, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("\n".join(filter(None, (asked, failed))), "")
