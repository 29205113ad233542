"""Backups of Slurm's data are made on schedule, and match their checksums."""

import json
import time

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system.backup import COMMAND, PERIOD, kinds
from gpupool.verify.scope import not_checked, only_if

pytestmark = pytest.mark.manages("backup")

_HOUR = 3600


def test_backups_are_made(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(kinds(cluster, node))
    failed = host.run("systemctl is-failed -q gpupool-backup.service").rc == 0
    why = host.run("journalctl -q -u gpupool-backup -o cat -n 200 | grep 'no backup' | tail -n 1").stdout.strip()
    assert not failed, f"the last backup failed: {why or 'see journalctl -u gpupool-backup'}"


def test_the_last_backup_is_good(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(kinds(cluster, node))
    done = host.run(f"timeout 60 {COMMAND} look")
    if done.rc in (124, 137):
        not_checked("the last backup is too large for a checksum within 60 s")
    assert done.rc == 0, f"gpupool-backup look: {done.stderr.strip()}"
    for kind, backups in json.loads(done.stdout).items():
        newest = backups["backups"][0] if backups["backups"] else {"path": "there is none", "made": 0}
        assert backups["good"] or not newest["made"], f"{kind}: {newest['path']} does not match its checksum"
        # a new cluster may be without a backup until its second night
        age = time.time() - max(newest["made"], backups["configured"])
        assert age < 2 * PERIOD, f"{kind}: the last backup is {age / _HOUR:.0f} h old: {newest['path']}"
