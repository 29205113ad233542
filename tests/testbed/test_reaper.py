"""On compute nodes, processes of users outside of jobs are ended, except for exempt users; no reboot under a job."""

from collections.abc import Iterator

import pytest
from pace import until

from tests.testbed.cluster import Testbed

NODE, USER, SPARED = "clippy", "u-kira1", "u-hays1"
#: The node's own settings, without a grace time and with one more exempt user; and the program with these.
SETTINGS = (
    f"""sed 's/"grace": [0-9]*/"grace": 0/; s/"root"/"root", "{SPARED}"/' /etc/gpupool/reaper.json >/root/reaper.json"""
)
REAP = "PYTHONPATH=/usr/local/lib/gpupool python3 -P -B -m reaper strays /root/reaper.json"
SLEEP = "setsid sleep 6001 >/dev/null 2>&1 & echo $!"


def runs(testbed: Testbed, pid: str) -> bool:
    return testbed.run(NODE, f"grep -q sleep /proc/{pid}/comm").returncode == 0


@pytest.fixture
def reaped(idle: Testbed) -> Iterator[Testbed]:
    idle.out(NODE, SETTINGS)
    yield idle
    idle.out(NODE, "rm -f /root/reaper.json; pkill -f '^sleep 600[0-9]$' || :")


def process_of_a_job(testbed: Testbed) -> str:
    """Return the PID of a user's process in a job; slurmctld reports RUNNING before slurmd has started it."""
    number = testbed.submit(USER, f"-p short -w {NODE}", "exec sleep 6002")
    testbed.wait_for(number, "RUNNING")
    seen: str = until(lambda: testbed.run(NODE, "pgrep -f '^sleep 6002$'").stdout.strip(), "the job's process runs")
    return seen


@pytest.mark.promise("SKY-160", "SKY-042")
def test_a_stray_is_ended_and_a_job_beside_it_is_not(reaped: Testbed) -> None:
    job = process_of_a_job(reaped)
    stray, spared = reaped.out(NODE, SLEEP, USER), reaped.out(NODE, SLEEP, SPARED)
    system = reaped.out(NODE, "setsid setpriv --reuid slurm --clear-groups sleep 6003 >/dev/null 2>&1 & echo $!")
    as_user = reaped.out(NODE, f"setsid setpriv --reuid {USER} --clear-groups sleep 6004 >/dev/null 2>&1 & echo $!")
    there = {stray: True, spared: True, system: True, as_user: True, job: True}
    listed = reaped.out(NODE, f"{REAP} --dry-run")
    assert f"would be ended: PID {stray} (sleep) of {USER}, outside of jobs" in listed
    assert {pid: runs(reaped, pid) for pid in there} == there, "a dry run ends nothing"
    text = reaped.out(NODE, REAP)
    assert f"terminated: PID {stray} (sleep) of {USER}, outside of jobs" in text
    assert {pid: runs(reaped, pid) for pid in there} == {**there, stray: False}, "what root runs as a user is root's"
    assert f"PID {stray} (sleep)" in reaped.out(NODE, "journalctl -q -o cat -t gpupool-strays")
    assert reaped.out("marvin", "squeue -h -t R -o %u") == USER


@pytest.mark.promise("SKY-160")
def test_a_new_process_has_a_grace_time_and_its_user_can_log_in(reaped: Testbed) -> None:
    """ssh to a compute node works without a job; the timer's own run ends nothing during the grace time."""
    stray = reaped.out(NODE, SLEEP, USER)
    assert "strays" not in reaped.out(NODE, "systemctl is-failed gpupool-reaper || :")
    reaped.out(NODE, "systemctl start gpupool-reaper || { journalctl -q -o cat -u gpupool-reaper >&2; exit 1; }")
    assert runs(reaped, stray)
    assert "0 terminated, 0 killed" in reaped.out(NODE, "journalctl -q -o cat -u gpupool-reaper")
    assert "would be ended in 30 min" in reaped.out(NODE, "gpupool-reaper --dry-run")


def test_the_timer_runs_on_compute_nodes_only(skynet: Testbed) -> None:
    active = "systemctl is-active gpupool-reaper.timer || :"
    assert skynet.out(NODE, active) == "active"
    for node in ("sky1", "marvin", "multivac"):
        assert skynet.out(node, active) == "inactive"


@pytest.mark.promise("SKY-161")
def test_a_node_with_a_job_is_not_rebooted(idle: Testbed) -> None:
    assert idle.run(NODE, "reboot --help").returncode == 0
    process_of_a_job(idle)
    for command in ("reboot", "poweroff", "halt", "shutdown"):
        # with --help, so that nothing happens if it is not refused
        refused = idle.run(NODE, f"{command} --help")
        assert refused.returncode == 1
        assert f"{command}: refused: jobs run on this node" in refused.stderr
    assert "/usr/sbin/reboot" in idle.out("marvin", "scontrol show config | grep RebootProgram")
