"""`gpupool adopt --from`: a running controller becomes an inventory, and nothing is written there."""

from pathlib import Path

import pytest

from tests.testbed.cluster import Testbed, gpupool

# sshd, cron and the daemons write to these files at any time
_OWN = "-path /proc -o -path /sys -o -path /dev -o -path /run -o -path /var/log -o -path /var/lib/mysql -o -path /tmp"


def _tree(testbed: Testbed) -> str:
    """Return path, size and time of change of all files of Slurm and of its configuration on the controller."""
    return testbed.out(
        testbed.controller, f"find /etc /root /opt /usr/local \\( {_OWN} \\) -prune -o -printf '%p %s %C@\\n' | sort"
    )


def test_a_running_controller_is_adopted_and_nothing_is_written_there(
    skynet: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert skynet.target.testbed
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(Path(skynet.target.testbed.ssh_config).read_text())
    monkeypatch.setenv("HOME", str(tmp_path))
    controller = skynet.controller
    before = _tree(skynet)
    done = gpupool("adopt", "--from", f"root@{controller}", tmp_path / "site")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    assert _tree(skynet) == before
    release = skynet.out(controller, "slurmctld -V | sed 's/.* //'")
    assert f"from   root@{controller}: Slurm {release} (package slurmctld), /etc/slurm/slurm.conf" in done.stdout
    nodes = skynet.out(controller, "scontrol -o show node | wc -l")
    assert f" {nodes} nodes, " in done.stdout
