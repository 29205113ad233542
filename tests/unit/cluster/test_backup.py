"""Directories in which backups are allowed, and others."""

from pathlib import Path

import pytest
from inventories import SMALL, STORED, copied

from gpupool.cluster.load import examine, load
from gpupool.errors import InventoryError


def complaints(base: Path, folder: Path, backup: str, *more: tuple[str, str]) -> str:
    try:
        load(copied(base, folder, ("scheduler:", f"slurm: {{backup: {backup}}}\nscheduler:"), *more))
    except InventoryError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("backup", "shown"),
    [
        ("{to: /srv/backup}", ""),
        ("{to: /srv}", "/srv belongs to the operating system"),
        ("{to: /var/lib/mysql/backup}", "belongs to the operating system"),
        ("{to: /var/spool/slurmctld/backup}", "overlap"),
        ("{to: /var/spool}", "belongs to the operating system"),
        ("{to: /home/backup}", "where users write"),
        ("{to: srv/backup}", "a path begins with /"),
        ("{to: /srv/backup, at: 2am}", "write hours and minutes in quotes"),
        ('{to: /srv/backup, at: "24:00"}', "write hours and minutes in quotes"),
        ("{to: /srv/backup, keep: 0}", "must be at least 1"),
        ("{keep: 3}", "slurm.backup.to: is missing"),
    ],
)
def test_only_a_separate_directory_of_a_node_is_accepted(backup: str, shown: str, tmp_path: Path) -> None:
    found = complaints(SMALL, tmp_path, backup)
    assert (shown in found) if shown else found == ""


MOUNTED = ('plain, mount_on: "gpu-1", squash: all', 'plain, mount_on: "ctl", squash: {}')


@pytest.mark.parametrize(
    ("to", "plain", "shown"),
    [
        ("/mnt/plain/backup", "", "ctl does not mount plain"),
        ("/mnt/plain/backup", "none", ""),
        ("/mnt/plain/backup", "root", "root of ctl cannot write to plain, which has squash: root"),
        ("/mnt/red/backup", "", "where users write"),
        ("/mnt/scratch/backup", "", "storage.purge removes old files below /mnt/scratch"),
        ("/srv/scratch/backup", "", "storage.purge removes old files below /mnt/scratch"),
    ],
)
def test_a_directory_on_an_export_is_accepted_or_refused(to: str, plain: str, shown: str, tmp_path: Path) -> None:
    old, new = MOUNTED
    found = complaints(STORED, tmp_path, f"{{to: {to}}}", *([(old, new.format(plain))] if plain else []))
    assert (shown in found) if shown else found == ""


@pytest.mark.parametrize(("mount_on", "warned"), [("db", False), ("db,ctl", True), ("db,gpu-1", True)])
def test_an_export_of_backups_may_take_root_from_controllers(mount_on: str, warned: bool, tmp_path: Path) -> None:
    """On `ctl`, a head, users work; no warning could tell an admin what else to write for `db`."""
    old, new = MOUNTED[0], f'plain, mount_on: "{mount_on}", squash: none'
    db = "  - {name: db, address: 10.90.1.9, roles: [controller, database]}"
    roles = ("roles: [head, controller, database]}", f"roles: [head]}}\n{db}")
    backup = ("scheduler:", "slurm: {backup: {to: /mnt/plain/backup}}\nscheduler:")
    found = [one.complaint.code for one in examine(copied(STORED, tmp_path, (old, new), roles, backup)).complaints]
    assert ("squash-is-intended" in found) == warned
