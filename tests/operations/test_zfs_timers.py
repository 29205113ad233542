"""The scripts of timers on a fileserver, run by a real shell with fake zfs, zpool and clock."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpupool.compile.system.fileserver import health_files, scrub_files, snapshot_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="GNU tools")

# it has one dataset and stores its snapshots in a file; those listed in "held" cannot be destroyed
ZFS = r"""#!/bin/sh
there=$(dirname "$0")/snapshots; : >> "$there"; : >> "$(dirname "$0")/held"
for last; do :; done
case "$*" in
*-t\ snapshot*) grep "^$last@" "$there" ;;
list*) [ "$last" = tank/kira ] || { echo "cannot open '$last': dataset does not exist" >&2; exit 1; } ;;
snapshot*) echo "$last" >> "$there" ;;
destroy*)
  if grep -qx "$last" "$(dirname "$0")/held"; then echo "cannot destroy '$last': dataset is busy" >&2; exit 1; fi
  grep -vx "$last" "$there" > "$there.new"; mv "$there.new" "$there" ;;
esac
"""
DATE = r"""#!/bin/sh
case "$*" in *-d*) exec /bin/date "$@" ;; esac
exec /bin/date -d "$NOW" "$@"
"""
ZPOOL = r"""#!/bin/sh
for last; do :; done
here=$(dirname "$0")
case $1 in
list) cat "$here/$last.list" 2>/dev/null || { echo "cannot open '$last': no such pool" >&2; exit 1; } ;;
status) cat "$here/$last.status" 2>/dev/null ;;
scrub) echo "$last" >> "$here/scrubbed" ;;
esac
"""


class Machine:
    """A folder with the fake commands, and the scripts as on a node."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in (("zfs", ZFS), ("zpool", ZPOOL), ("date", DATE)):
            (root / name).write_text(text)
            (root / name).chmod(0o755)

    def run(self, text: str, *arguments: str, now: str = "2026-11-21T14:30:00Z") -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ, "PATH": f"{self.root}:{os.environ['PATH']}", "NOW": now, "TZ": "UTC",
            "GPUPOOL_STATE": str(self.root / "state"),
        }  # fmt: skip
        command = ["sh", "-c", text, "sh", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def snap(self, kinds: Mapping[str, int], now: str, dataset: str = "tank/kira") -> subprocess.CompletedProcess[str]:
        script, table, *_ = snapshot_files({dataset: kinds})
        (self.root / "table").write_text(table.text)
        return self.run(script.text, str(self.root / "table"), now=now)

    @property
    def snapshots(self) -> list[str]:
        path = self.root / "snapshots"
        return [line.partition("@")[2] for line in path.read_text().split()] if path.exists() else []

    def zpool(self, pool: str, scan: str, errors: str = "No known data errors", row: str = "ONLINE\t40") -> None:
        (self.root / f"{pool}.list").write_text(f"{row}\n")
        status = f"  pool: {pool}\n state: ONLINE\n  scan: {scan}\nconfig:\n\n\t{pool} ONLINE\n\nerrors: {errors}\n"
        (self.root / f"{pool}.status").write_text(status)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_snapshot_of_each_kind_is_kept_for_each_hour_day_week_and_month(machine: Machine) -> None:
    kinds = {"hourly": 2, "daily": 2, "weekly": 2, "monthly": 2}
    # Monday 30 November; twice in an hour, then the next hour, day, month and ISO week
    times = ["11-30T09:00", "11-30T09:59", "11-30T10:00", "12-01T10:00", "12-07T10:00"]
    for time in times:
        done = machine.snap(kinds, f"2026-{time}:00Z")
        assert (done.returncode, done.stderr) == (0, "")
    assert sorted(machine.snapshots) == [
        "gpupool-daily-20261201T100000Z", "gpupool-daily-20261207T100000Z",
        "gpupool-hourly-20261201T100000Z", "gpupool-hourly-20261207T100000Z",
        "gpupool-monthly-20261130T090000Z", "gpupool-monthly-20261201T100000Z",
        "gpupool-weekly-20261130T090000Z", "gpupool-weekly-20261207T100000Z",
    ]  # fmt: skip


def test_a_week_does_not_end_with_the_year(machine: Machine) -> None:
    for day in ("2026-12-31", "2027-01-01", "2027-01-03", "2027-01-04"):
        machine.snap({"weekly": 9}, f"{day}T00:10:00Z")
    assert [name[-16:-8] for name in machine.snapshots] == ["20261231", "20270104"]


def test_snapshots_of_others_are_not_touched(machine: Machine) -> None:
    theirs = [
        "before-upgrade", "gpupool-daily-mine", "gpupool-daily-20260101T000000Z-kept",
        "autosnap-daily-20260101T000000Z", "gpupool-hourly-20260101T000000Z",
    ]  # fmt: skip
    (machine.root / "snapshots").write_text("".join(f"tank/kira@{name}\n" for name in theirs))
    for day in range(1, 5):
        machine.snap({"daily": 1}, f"2026-11-0{day}T12:00:00Z")
    assert machine.snapshots == [*theirs, "gpupool-daily-20261104T120000Z"]


def test_a_held_snapshot_is_kept_and_named_and_the_others_are_removed(machine: Machine) -> None:
    for day in (1, 2, 3):
        machine.snap({"daily": 9}, f"2026-11-0{day}T12:00:00Z")
    (machine.root / "held").write_text("tank/kira@gpupool-daily-20261101T120000Z\n")
    done = machine.snap({"daily": 1}, "2026-11-04T12:00:00Z")
    assert machine.snapshots == ["gpupool-daily-20261101T120000Z", "gpupool-daily-20261104T120000Z"]
    assert done.returncode == 1
    assert "<3>tank/kira@gpupool-daily-20261101T120000Z: not destroyed" in done.stderr


def test_a_clock_that_was_set_back_creates_no_snapshot_twice(machine: Machine) -> None:
    for hour in ("14", "15", "14"):
        assert machine.snap({"daily": 3}, f"2026-11-21T{hour}:00:00Z").returncode == 0
    assert machine.snapshots == ["gpupool-daily-20261121T140000Z"]


def test_a_missing_dataset_is_named(machine: Machine) -> None:
    done = machine.snap({"daily": 3}, "2026-11-21T14:00:00Z", dataset="tank/gone")
    assert done.returncode == 1
    assert "<3>tank/gone: does not exist" in done.stderr
    assert machine.snapshots == []


@pytest.mark.parametrize(
    ("scan", "begins"),
    [
        ("none requested", True),
        ("scrub repaired 0B in 00:00:01 with 0 errors on Sun Oct 11 00:24:01 2026", True),
        ("scrub repaired 0B in 00:00:01 with 0 errors on Sun Nov  8 00:24:01 2026", False),
        ("scrub in progress since Sat Nov 21 00:30:01 2026", False),
        ("resilver in progress since Sat Nov 21 00:30:01 2026", False),
        ("resilvered 1.2T in 03:00:01 with 0 errors on Fri Nov 20 00:24:01 2026", True),
        ("scrub canceled on Sat Oct 10 12:00:00 2026", True),
    ],
)
def test_a_scrub_begins_a_month_after_the_last(machine: Machine, scan: str, begins: bool) -> None:
    machine.zpool("tank", scan)
    script, table, *_ = scrub_files({"tank": "monthly"})
    (machine.root / "table").write_text(table.text)
    done = machine.run(script.text, str(machine.root / "table"))
    assert (done.returncode, (machine.root / "scrubbed").exists()) == (0, begins), done.stderr


def test_health_is_logged_once_per_change(machine: Machine) -> None:
    script = health_files(["tank", "flash"])[0].text
    machine.zpool("tank", "none requested")
    done = machine.run(script, "tank", "flash")
    assert (done.returncode, done.stdout) == (1, "<2>flash: cannot open 'flash': no such pool\n")
    assert machine.run(script, "tank", "flash").stdout == "", "told again though nothing changed"
    machine.zpool("flash", "none requested", row="DEGRADED\t93", errors="3 data errors, use '-v' for a list")
    done = machine.run(script, "tank", "flash")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "<2>flash: DEGRADED", "<2>flash: more than 90% full", "<2>flash: 3 data errors, use '-v' for a list",
    ]  # fmt: skip
    machine.zpool("flash", "none requested")
    done = machine.run(script, "tank", "flash")
    assert (done.returncode, done.stdout) == (0, "<5>all pools are healthy again\n")
    assert (machine.run(script, "tank", "flash").returncode, machine.run(script, "tank", "flash").stdout) == (0, "")
