"""A node that Slurm is asked to reboot reboots after its jobs have ended, and accepts jobs again."""

import pytest
from pace import until

from tests.testbed.cluster import hang_up
from tests.vm.cluster import Stores


@pytest.mark.promise("SKY-161")
def test_a_node_is_rebooted_when_its_job_has_ended_and_is_in_service_again(stores: Stores) -> None:
    idle = "sinfo -h -o %t"
    until(lambda: stores.out("control", idle) == "idle", "node01 is idle")
    number = stores.out("control", "sbatch --parsable -o /dev/null --wrap 'sleep 6000'", "ann")
    state = f"squeue -h -j {number} -o %T"
    until(lambda: stores.out("control", state) == "RUNNING", "the job runs")
    before = stores.boot("node01")
    stores.out("control", "scontrol reboot ASAP nextstate=RESUME node01")
    refused = stores.run("node01", "reboot --help")
    assert refused.returncode == 1
    assert "scontrol reboot ASAP nextstate=RESUME node01" in refused.stderr
    assert stores.out("control", state) == "RUNNING"
    assert stores.boot("node01") == before
    hang_up(stores.container("node01"))
    stores.out("control", f"scancel {number}")
    until(lambda: stores.boot("node01") not in ("", before), "node01 is booted again")
    until(lambda: stores.out("control", idle) == "idle", "node01 takes jobs again")
    assert stores.out("control", "srun hostname", "ann") == "node01"


def test_a_scope_that_failed_at_boot_does_not_keep_slurmd_from_starting(stores: Stores) -> None:
    scope = "node01_slurmstepd.scope"
    until(lambda: stores.out("control", "sinfo -h -o %t") == "idle", "node01 is idle")
    stores.out("node01", f"systemctl stop slurmd {scope}")
    # systemd may have lost the process with which slurmd created the scope; this scope fails by its time limit
    stores.run("node01", f"systemd-run --quiet --scope --unit={scope} -p RuntimeMaxSec=1 sleep 600")
    assert stores.run("node01", f"systemctl is-failed {scope}").stdout == "failed\n"
    stores.out("node01", "systemctl start slurmd")
    assert stores.out("node01", f"systemctl is-active slurmd {scope}") == "active\nactive"
    assert stores.out("control", "srun hostname", "ann") == "node01"


#: A service takes time to start, and systemd creates the scope only after it.
SLOW = """\
set -e
cd /run/systemd/system
mkdir -p node01_slurmstepd.scope.d
printf '[Service]\\nType=oneshot\\nExecStart=/bin/sleep 15\\n' > slow.service
printf '[Unit]\\nAfter=slow.service\\n' > node01_slurmstepd.scope.d/slow.conf
systemctl daemon-reload
systemctl start --no-block slow
"""
QUICK = "cd /run/systemd/system; rm -rf slow.service node01_slurmstepd.scope.d; systemctl daemon-reload"


def test_slurmd_waits_for_a_systemd_that_creates_its_scope_slowly(stores: Stores) -> None:
    scope = "node01_slurmstepd.scope"
    until(lambda: stores.out("control", "sinfo -h -o %t") == "idle", "node01 is idle")
    stores.out("node01", f"systemctl stop slurmd {scope}")
    try:
        stores.out("node01", "sh -s", text=SLOW)
        stores.out("node01", "systemctl start slurmd")
    finally:
        stores.out("node01", QUICK)
    assert stores.out("node01", "systemctl show -p NRestarts --value slurmd") == "0", "it did not give up once"
    # systemd has checked the processes of the scope again
    assert stores.out("node01", f"systemctl is-active {scope}") == "active"
    assert stores.out("control", "srun hostname", "ann") == "node01"
