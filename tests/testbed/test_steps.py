"""A job whose output is a FIFO without a reader does not keep its node from starting jobs of others."""

from collections.abc import Iterator

import pace
import pytest
from pace import until

from tests.testbed.cluster import Testbed

NODE, HOSTILE, OWNER = "clippy", "u-wu1", "u-cvmlp1"
#: 20 s on an idle machine, as a multiple of a piece of work that is measured in the test.
MOST = 40
KILLED = "journalctl -q -o cat -u gpupool-steps -g '^killed: slurmstepd .* of job {job}, '"


@pytest.fixture
def fifo(idle: Testbed) -> Iterator[str]:
    """Return the path of a FIFO in the home of a user, which all nodes mount."""
    idle.out("sky1", "rm -f fifo; mkfifo fifo", HOSTILE)
    yield "fifo"
    # a reader ends each wait, also where no program does
    idle.run(NODE, "timeout 5 cat fifo", HOSTILE)
    idle.run("sky1", "rm -f fifo", HOSTILE)


def delay(testbed: Testbed) -> int:
    """Submit an owner's job of all GPUs of the node, and return the seconds until it starts; the job is cancelled."""
    job = testbed.submit(OWNER, f"-p short -w {NODE} --gres=gpu:8")
    testbed.wait_for(job, "RUNNING")
    seconds = "squeue -h -j {} -O SubmitTime,StartTime"
    submitted, started = testbed.out("marvin", f"SLURM_TIME_FORMAT=%s {seconds.format(job)}").split()
    testbed.out("marvin", f"scancel {job}")
    until(lambda: testbed.job(job)["JobState"] == "CANCELLED", "the owner's job has ended")
    return int(started) - int(submitted)


@pytest.mark.parametrize("option", ["-o", "-e", "-i"])
def test_an_owner_gets_the_node_of_a_cancelled_job_with_a_fifo(idle: Testbed, fifo: str, option: str) -> None:
    """Without the service, the owner's job starts when root ends the slurmstepd, and never before."""
    empty = delay(idle)
    files = "" if option == "-o" else "-o /dev/null "
    words = f"sbatch --parsable -p debug -w {NODE} {files}{option} {fifo} --wrap 'sleep 3600'"
    job = idle.out("sky1", words, HOSTILE)
    idle.wait_for(job, "RUNNING")
    until(lambda: idle.out(NODE, "cat /proc/[0-9]*/wchan | grep -c wait_for_partner || :") != "0", "the step waits")
    # a running job is not ended, however long its step waits
    asked = f"journalctl -q -o cat -u gpupool-steps; pgrep -f '^slurmstepd: .{job}.batch'"
    assert idle.out(NODE, asked)
    idle.out("marvin", f"scancel {job}")
    assert delay(idle) <= empty + MOST * pace.start()
    assert len(idle.out(NODE, KILLED.format(job=job)).splitlines()) == 1
    assert idle.out("marvin", f"sinfo -h -n {NODE} -o %E") == "none"
