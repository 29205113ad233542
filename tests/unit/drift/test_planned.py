"""A plan's changes as differences in three columns."""

import pytest

from gpupool.drift.planned import differences
from gpupool.engine.report import Change

FILE = "--- /etc/x\n+++ /etc/x\n@@ -1,2 +1,2 @@\n # kept\n-a=2\n-b=2\n+a=1\n"
NEW = "--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+a=1\n"
OFF = "does not start at boot, stopped"


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ([("Names | /etc/x", FILE)], ("file", "/etc/x", "a=1", "a=2 (and 1 more)", "-")),
        ([("Names | /etc/x", NEW)], ("file", "/etc/x", "present", "absent", "-")),
        ([("Names | /etc/x", "root:root 0644 becomes root:root 0600\n")],
         ("file", "/etc/x", "root:root 0600", "root:root 0644", "-")),
        ([("Left | /etc/x", "no longer in the inventory: will be removed\n")],
         ("file", "/etc/x", "absent", "present", "-")),
        ([("Links | /srv/x", "link to /mnt/x, now to /tmp\n")], ("link", "/srv/x", "-> /mnt/x", "-> /tmp", "-")),
        ([("Links | /srv/x", "link to /mnt/x\n")], ("link", "/srv/x", "-> /mnt/x", "absent", "-")),
        ([("Packages | tree", None)], ("package", "tree", "installed", "-", "not installed")),
        ([("Packages | tree", "version 1 becomes 2\n")], ("package", "tree", "2", "-", "version 1")),
        ([("Users | user ann", "/bin/sh becomes /bin/bash\n")], ("user", "user ann", "/bin/bash", "-", "/bin/sh")),
        ([("Account limits | QoS normal", "MaxJobs: 3 becomes none\n")],
         ("accounting", "QoS normal", "MaxJobs=none", "-", "MaxJobs=3")),
        ([("Mounts | /mnt/x", "mount fs:/x\n")], ("mount", "/mnt/x", "mount fs:/x", "-", "not so")),
        ([("Munge | enable munge.service", None), ("Munge | start munge.service", None)],
         ("service", "munge.service", "starts at boot, runs", "-", OFF)),
        ([("SSH | restart ssh.service", "/etc/x: written after the unit started\n")],
         ("service", "ssh.service", "runs with /etc/x", "is newer", "runs with an older one")),
        ([("Datasets | tank/a quota", "1T becomes 2T\n")], ("zfs", "tank/a quota", "2T", "-", "1T")),
        ([("GPU devices | /dev/nvidia7", "character device 195:7\n")],
         ("hardware", "/dev/nvidia7", "character device 195:7", "-", "absent, or another device")),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_a_change_is_a_row(changes: list[tuple[str, str | None]], row: tuple[str, ...]) -> None:
    (it,) = differences("n1", [Change(*change) for change in changes])
    assert (it.kind, it.what, it.inventory, it.file, it.live) == row
    assert it.then == "the next apply puts it back"


def test_a_restart_for_a_file_that_differs_is_no_row_of_its_own() -> None:
    changes = [Change("SSH | /etc/x", FILE), Change("SSH | restart ssh.service", "/etc/x: will change\n")]
    assert [it.what for it in differences("n1", changes)] == ["/etc/x"]
