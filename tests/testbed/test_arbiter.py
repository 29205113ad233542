"""The arbiter in a testbed: labmates get their lab's cap, and grace times end on time."""

import json
import time
from collections.abc import Iterator
from functools import partial

import pytest
from pace import start, until

from gpupool.slurm.snapshot import PATH
from tests.testbed.cluster import Testbed, gpupool

CAP = 4
OVER = "-p user-overcap --gres=gpu:1"


def unit(testbed: Testbed, command: str) -> str:
    return testbed.out("marvin", f"systemctl {command} gpupool-arbiter")


def decisions(testbed: Testbed, since: float) -> str:
    return testbed.out("marvin", f"journalctl -q -o cat -u gpupool-arbiter --since @{since:.0f}")


@pytest.fixture
def lab(idle: Testbed) -> Iterator[Testbed]:
    """Lab cvmlp-lab with a cap that a few jobs reach."""
    change = "sacctmgr -iQ modify account cvmlp-lab set GrpTRES=gres/gpu={}"
    idle.out("marvin", change.format(CAP))
    yield idle
    idle.out("marvin", change.format(idle.cluster.accounts["cvmlp-lab"].limits.group.gpu))


@pytest.fixture
def grace(idle: Testbed) -> int:
    """Return the seconds between signal and end; a testbed has fewer than the cluster."""
    return idle.cluster.partitions["user-overcap"].grace


def full(testbed: Testbed, *options: str) -> list[str]:
    """Fill the lab's cap with jobs of u-cvmlp1 in user-overcap, the youngest last."""
    found = []
    for extra in options:
        found.append(testbed.submit("u-cvmlp1", f"{OVER} {extra}"))
        testbed.wait_for(found[-1], "RUNNING")
        time.sleep(1.1)  # Slurm counts in seconds, and the youngest job must differ
    return found


def test_the_arbiter_runs_as_slurm_and_writes_only_the_queue(idle: Testbed) -> None:
    assert unit(idle, "is-active") == "active"
    assert unit(idle, "is-enabled") == "enabled"
    pid = idle.out("marvin", "systemctl show -p MainPID --value gpupool-arbiter")
    assert idle.out("marvin", f"ps -o user= -p {pid}") == "slurm"
    until(lambda: idle.run("marvin", f"test -e {PATH}").returncode == 0, "the queue is shared")
    assert idle.out("marvin", f"stat -c '%U %a' {PATH}") == "slurm 644"
    assert "StatusText=well" in unit(idle, "show -p StatusText")
    assert idle.run("marvin", "su slurm -s /bin/sh -c 'touch /usr/local/lib/gpupool/arbiter/jobs.py'").returncode


def test_only_the_arbiter_of_the_active_controller_acts(idle: Testbed) -> None:
    output = idle.out("vicki", "journalctl -q -o cat -u gpupool-arbiter")
    assert "doing nothing: this controller is not the active one" in output


@pytest.mark.promise("SKY-126", "SKY-129", "SKY-128")
def test_a_labmates_job_gets_the_gpus_of_the_youngest_user_overcap_job(lab: Testbed, grace: int) -> None:
    began = time.time()
    jobs = full(lab, *["--requeue"] * CAP)
    over = lab.submit("u-cvmlp1", OVER)
    lab.wait_for(over, "PENDING", "AssocGrpGRES")
    mate = lab.submit("u-cvmlp2", "-p short --gres=gpu:1")
    mark = f"scontrol show job {jobs[-1]} | grep -o 'AdminComment=.*'"
    found = until(lambda: lab.run("marvin", mark).stdout, "the youngest is signalled")
    assert f"for job {mate}]" in found
    lab.wait_for(jobs[-1], "RUNNING")  # it runs for its grace time, after a moment as SIGNALING
    lab.wait_for(mate, "RUNNING")
    assert lab.wait_for(jobs[-1], "PENDING")["Restarts"] == "1"
    assert [lab.job(job)["JobState"] for job in jobs[:-1]] == ["RUNNING"] * (CAP - 1)
    assert lab.job(over)["JobState"] == "PENDING"
    output = decisions(lab, began)
    assert f"job {jobs[-1]} of u-cvmlp1 in user-overcap is signalled: job {mate} of u-cvmlp2 waits" in output
    assert f"job {jobs[-1]} of u-cvmlp1 in user-overcap is ended" in output


@pytest.mark.promise("SKY-122", "SKY-126")
def test_the_preempted_job_gets_its_signal_and_its_grace_time(lab: Testbed, grace: int) -> None:
    *_, youngest = full(lab, *["--requeue"] * (CAP - 1))
    script = 'trap "date +%s > ~/signalled" USR1; while :; do sleep 0.2; done'
    lab.out("sky1", "rm -f ~/signalled ~/traps.sh", "u-cvmlp1")
    lab.out("sky1", "cat > ~/traps.sh", "u-cvmlp1", f"#!/bin/bash\n#SBATCH --signal=B:USR1@60\n{script}\n")
    traps = lab.out("sky1", f"sbatch --parsable -o /dev/null --requeue {OVER} ~/traps.sh", "u-cvmlp1")
    lab.wait_for(traps, "RUNNING")
    mate = lab.submit("u-cvmlp2", "-p short --gres=gpu:1")
    lab.wait_for(mate, "RUNNING")
    signalled = int(lab.out("sky1", "cat ~/signalled", "u-cvmlp1"))
    ended = int(lab.out("marvin", f"sacct -D -X -n -P -j {traps} -o end | head -1 | xargs -I@ date -d @ +%s"))
    assert ended - signalled >= grace - 1
    assert lab.job(youngest)["JobState"] == "RUNNING"


@pytest.mark.promise("SKY-126")
def test_a_job_that_cannot_be_requeued_is_cancelled(lab: Testbed, grace: int) -> None:
    jobs = full(lab, *["--requeue"] * (CAP - 1), "--no-requeue")
    mate = lab.submit("u-cvmlp2", "-p short --gres=gpu:1")
    lab.wait_for(mate, "RUNNING")
    lab.wait_for(jobs[-1], "CANCELLED")


@pytest.mark.promise("SKY-125", "SKY-158")
def test_no_job_leaves_for_a_held_job_or_a_user_at_the_limit(lab: Testbed, grace: int) -> None:
    began = time.time()
    full(lab, *["--requeue"] * CAP)
    held = lab.submit("u-cvmlp2", "-H -p short --gres=gpu:1")
    large = lab.run("sky1", f"sbatch -p short -N 2 --gres=gpu:{CAP + 1} --wrap true", "u-cvmlp2")
    assert "AssocGrpGRES" in large.stderr, "it could never start"
    other = lab.submit("u-kira1", "-p short --gres=gpu:1")
    lab.wait_for(other, "RUNNING")
    time.sleep(2 * grace)  # not a time limit: the test watches for longer than the arbiter needs
    assert lab.job(held)["JobState"] == "PENDING"
    assert "signalled" not in decisions(lab, began)


@pytest.mark.promise("SKY-036", "SKY-121")
def test_a_grace_time_ends_on_time(lab: Testbed, grace: int) -> None:
    gpus = lab.cluster.total_gpus
    array = lab.submit("u-hays1", f"--requeue -p overcap -A overcap --gres=gpu:1 --array=1-{gpus}")
    running = f"squeue -h -r -j {array} -t R | wc -l"
    until(lambda: lab.out("marvin", running) == str(gpus), "overcap jobs fill the pool")
    first, took = time.time(), []
    for _ in range(3):
        began = time.monotonic()
        lab.wait_for(lab.submit("u-kira1", "-p kira-lab --gres=gpu:1 --mem-per-gpu=1G"), "RUNNING")
        took.append(time.monotonic() - began)
    assert min(took) >= grace
    # slurmctld alone would check for the end every 30 s
    assert sorted(took)[1] < grace + 30 * start(), took
    ended = [line for line in decisions(lab, first).splitlines() if "in overcap is ended: preempted by Slurm" in line]
    assert len(ended) == len(took), "slurmctld came first"
    look = partial(lab.out, "marvin", f"sacct -nXPD -j {array} -o admincomment,state,jobid")
    runs = until(lambda: _ended(len(took), look()), "slurmdbd has the runs that ended", look)
    assert {comment for comment, state, _ in runs if state == "REQUEUED"} == {"[gpupool: preempted by Slurm, run 0]"}
    # slurmctld checks every 30 s, and may have ended a job just before the arbiter
    assert {comment for comment, *_ in runs} <= {"[gpupool: preempted by Slurm, run 0]", ""}
    assert len({job for comment, _, job in runs if comment}) >= 2, "most have the arbiter's word"
    assert len({job for *_, job in runs}) == len(took)


def _ended(count: int, listed: str) -> list[list[str]]:
    """Return comment, state and job of the ended runs, once they are of so many jobs."""
    found = [line.split("|") for line in listed.splitlines() if line.split("|")[1] in ("REQUEUED", "PREEMPTED")]
    return found if len({job for *_, job in found}) >= count else []


@pytest.mark.promise("SKY-036")
def test_a_job_held_by_the_guard_is_named_in_its_comment_by_verify_and_by_drift(idle: Testbed) -> None:
    """Root's change of a held job is any change that the submit plugin does not see."""
    job = idle.submit("u-wu1", "-H -p long -c 1 --mem=1G")
    idle.out("marvin", f"scontrol update jobid={job} MinMemoryNode=20000; scontrol release {job}")
    marked = f"squeue -h -j {job} -t PD -o %k | grep -o 'gpupool-guard: run 0, it has 20000M .*'"
    until(lambda: idle.run("marvin", marked).stdout, "the guard holds it", lambda: decisions(idle, time.time() - 60))
    line = f"jobs held for their allocation: {job} of u-wu1"
    until(lambda: line in unit(idle, "show -p StatusText"), "the service reports it")
    done = gpupool("verify", idle.inventory, "--on", "testbed", "--limit", "marvin")
    assert done.returncode == 1
    assert line in done.stdout
    rows = json.loads(gpupool("drift", idle.inventory, "--on", "testbed", "--json").stdout)["differences"]
    assert [row["live"] for row in rows if row["what"] == "arbiter"] == [line]
    idle.out("marvin", f"scancel {job}")
    until(lambda: line not in unit(idle, "show -p StatusText"), "the service is well again")
    assert gpupool("verify", idle.inventory, "--on", "testbed", "--limit", "marvin").returncode == 0
