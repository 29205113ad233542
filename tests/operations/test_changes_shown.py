"""One change of each kind, made by its operation: the plan's screen, its page and both --json show the same."""

import io
import json
from dataclasses import replace

import pytest

from gpupool.change import Change, Kind
from gpupool.cli.price import markdown
from gpupool.cli.running import show
from gpupool.drift.rows import differences
from gpupool.engine.report import HostReport, Report
from gpupool.terminal import Screen
from tests.operations.test_operation_cases import CASES, changes_of

#: The kind, a case, an item in it, the wanted and actual values, and the lines of the plan.
SHOWN = [
    (Kind.FILE, "files.put/file_differs", "/etc/a", "new", "old", ["-old", "+new"]),
    (Kind.LINK, "files.put/missing_link", "/srv/o'dd", "/a b", "absent", ["link to /a b"]),
    (Kind.SERVICE, "service.running/plan_knows_what_will_be_written", "slurmctld.service",
     "runs with /etc/slurm/slurm.conf", "runs with an older /etc/slurm/slurm.conf",
     ["/etc/slurm/slurm.conf: will change"]),
    (Kind.SERVICE, "service.at_boot/one_is_not_enabled", "zfs-mount.service", "starts at boot",
     "does not start at boot", []),
    (Kind.PACKAGE, "packages.installed/version", "cron", "2", "3", ["version 3 becomes 2"]),
    (Kind.PACKAGE, "packages.installed/version", "jq", "present", "absent", []),
    (Kind.USER, "users.users/new_and_changed", "user bob", "shell=/bin/zsh", "shell=/bin/bash",
     ["shell: /bin/bash becomes /bin/zsh"]),
    (Kind.MOUNT, "mounts.mounted/options_that_a_remount_sets", "/srv/a", "Options=hard,rw,nofail, with rw,rw",
     "Options=hard,ro,nofail, without rw,rw", ["+Options=hard,rw,nofail", "remounted with rw,rw"]),
    (Kind.ZFS, "zfs.datasets/changed_by_hand", "tank/kira quota", "50G", "20G", ["20G becomes 50G"]),
    (Kind.ACCOUNTING, "accounting.entities/add_and_modify", "account lab", "GrpTRES=none", "GrpTRES=gres/gpu=32",
     ["GrpTRES: gres/gpu=32 becomes none"]),
    (Kind.HARDWARE, "devices.present/one_is_missing_and_one_is_another_device", "/dev/nvidia1",
     "character device 195:1", "another device: 1:3", ["character device 195:1"]),
    (Kind.OTHER, "names.host_name/another_name", "host name a40-01", "a40-01", "localhost",
     ["localhost becomes a40-01"]),
]  # fmt: skip
#: The form of some values in drift.
IN_DRIFT = {"present": "installed", "absent": "not installed"}


def report_of(case: str, kind: Kind, item: str) -> tuple[Change, Report]:
    """Return a change of a case as the engine returns it, and a report with only that change."""
    (path,) = (path for path in CASES if f"{path.parent.name}/{path.stem}" == case)
    (change,) = (change for change in changes_of(path) if (change.kind, change.item) == (kind, item))
    change = replace(change, step="Step")
    return change, Report({"n1": HostReport(True, None, (change,), 1, 0.0)}, 0.0)


@pytest.mark.parametrize(
    ("kind", "case", "item", "wanted", "actual", "lines"), SHOWN, ids=lambda value: str(value)[:40]
)
def test_all_outputs_show_the_same_change(
    kind: Kind, case: str, item: str, wanted: str, actual: str, lines: list[str]
) -> None:
    change, report = report_of(case, kind, item)
    assert (change.wanted, change.actual) == (wanted, actual)

    (listed,) = json.loads(json.dumps(report.as_dict()))["hosts"]["n1"]["changes"]
    assert (listed["kind"], listed["item"], listed["wanted"], listed["actual"]) == (str(kind), item, wanted, actual)
    assert listed["operation"] == f"Step | {change.name}"

    screen = io.StringIO()
    show(Screen(file=screen, width=400), report, diffs=True)
    page = markdown(report, "1 node")
    assert f"n1: Step | {change.name}" in screen.getvalue()
    assert set(lines) <= {line.strip() for line in screen.getvalue().splitlines()}
    assert set(lines) <= set(page.splitlines())
    assert set((listed["diff"] or "").splitlines()) >= set(lines)

    rows = list(differences("n1", [change]))
    if all(aspect.follows for aspect in change.aspects):
        assert rows == []
        return
    (row,) = rows
    actual_column = row.file if kind in (Kind.FILE, Kind.LINK) else row.live
    assert (row.kind, row.what) == (str(kind), item)
    for shown, value in ((row.inventory, wanted), (actual_column, actual)):
        assert shown in (value, IN_DRIFT.get(value), f"-> {value}")


def test_each_kind_of_a_plan_is_shown() -> None:
    of_slurmctld = {Kind.SLURM, Kind.STATE}  # compared by drift only
    assert {kind for kind, *_ in SHOWN} == set(Kind) - of_slurmctld
