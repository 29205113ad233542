"""A plan's changes as differences in three columns."""

import pytest

from gpupool.change import ABSENT, PRESENT, Aspect, Change, Kind
from gpupool.drift.rows import differences

BOOT = Change(Kind.SERVICE, "munge.service", (Aspect("starts at boot", "does not start at boot"),), "enable")
START = Change(Kind.SERVICE, "munge.service", (Aspect("runs", "stopped"),), "start")
NEWER = Aspect("runs with /etc/x", "runs with an older /etc/x", note="/etc/x: written after the unit started")


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ([Change(Kind.FILE, "/etc/x", (Aspect("a=1", "a=2"),))], ("file", "/etc/x", "a=1", "a=2", "-")),
        ([Change(Kind.FILE, "/etc/x")], ("file", "/etc/x", "present", "absent", "-")),
        ([Change(Kind.FILE, "/etc/x", (Aspect(ABSENT, PRESENT),))], ("file", "/etc/x", "absent", "present", "-")),
        ([Change(Kind.LINK, "/srv/x", (Aspect("/mnt/x", "/tmp"),))], ("link", "/srv/x", "-> /mnt/x", "-> /tmp", "-")),
        ([Change(Kind.LINK, "/srv/x", (Aspect("/mnt/x"),))], ("link", "/srv/x", "-> /mnt/x", "absent", "-")),
        ([Change(Kind.PACKAGE, "tree")], ("package", "tree", "installed", "-", "not installed")),
        ([Change(Kind.PACKAGE, "tree", (Aspect("2", "1"),))], ("package", "tree", "2", "-", "1")),
        ([Change(Kind.ACCOUNTING, "QoS a", (Aspect("none", "3", "MaxJobs"), Aspect("2", "1", "Priority")))],
         ("accounting", "QoS a", "MaxJobs=none, Priority=2", "-", "MaxJobs=3, Priority=1")),
        ([BOOT, START], ("service", "munge.service", "starts at boot, runs", "-", "does not start at boot, stopped")),
        ([Change(Kind.SERVICE, "ssh.service", (NEWER,), "restart")],
         ("service", "ssh.service", "runs with /etc/x", "-", "runs with an older /etc/x")),
        ([Change(Kind.OTHER, "", (Aspect(diff="-a\n+b"),), step="Step")], ("other", "Step", "present", "-", "absent")),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_a_change_is_a_row(changes: list[Change], row: tuple[str, ...]) -> None:
    (difference,) = differences("n1", changes)
    columns = (difference.kind, difference.what, difference.inventory, difference.file, difference.live)
    assert columns == row
    assert difference.then == "the next apply puts it back"


def test_a_restart_for_a_file_that_differs_has_no_separate_row() -> None:
    later = Aspect("runs with /etc/x", "runs with an older /etc/x", note="/etc/x: will change", follows=True)
    changes = [Change(Kind.FILE, "/etc/x"), Change(Kind.SERVICE, "ssh.service", (later,), "restart")]
    assert [difference.what for difference in differences("n1", changes)] == ["/etc/x"]
    both = [Change(Kind.SERVICE, "ssh.service", (later, NEWER), "restart")]
    assert [difference.inventory for difference in differences("n1", both)] == ["runs with /etc/x"]


def test_entities_of_a_slurmdbd_that_does_not_answer_have_no_rows() -> None:
    silent = Change(Kind.ACCOUNTING, "slurmdbd", (Aspect("answers", "does not"),))
    unknown = Change(Kind.ACCOUNTING, "QoS a", (Aspect("none", "3", "MaxJobs", follows=True), Aspect(follows=True)))
    assert [difference.what for difference in differences("n1", [silent, unknown])] == ["slurmdbd"]


def test_a_change_that_apply_refuses_remains_until_a_person_makes_it() -> None:
    (difference,) = differences("n1", [Change(Kind.ZFS, "tank/a quota", (Aspect("1G", "2G"),), refused=True)])
    assert difference.then == "until an admin changes it: apply refuses to"
