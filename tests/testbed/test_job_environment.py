"""The environment of a job on its node: GPUs by name, variables, a private /tmp, and no files of other users."""

import pytest
from pace import until

from tests.testbed.cluster import Changed, Testbed
from tests.testbed.skynet import cleared
from tests.testbed.test_jobs import PROBE

HEAD, NODE = "sky1", "clippy"
KIRA, HAYS = "u-kira1", "u-hays1"
ON_NODE = f"-w {NODE} -p short"
TELL = "echo names ${NV_GPU-none}\n"


def named_and_open(text: str) -> tuple[list[str], list[str]]:
    """Return the GPUs in NV_GPU and the GPUs that the task could open, by number."""
    lines = [line.split() for line in text.splitlines() if line]
    (names,) = (line[1] for line in lines if line[0] == "names")
    return names.split(","), [line[1].removeprefix("/dev/nvidia") for line in lines if line[0] == "ENXIO"]


@pytest.mark.promise("SKY-173", "SKY-176")
def test_a_job_sees_its_own_gpus_and_no_others(idle: Testbed) -> None:
    """Without a driver GPUs have no UUIDs, so their numbers are shown. Those of Slurm's own variable begin at 0."""
    idle.wait_for(idle.submit(HAYS, f"{ON_NODE} --gres=gpu:1"), "RUNNING")
    step = idle.out(HEAD, f"srun {ON_NODE} --gres=gpu:2 bash -s", KIRA, TELL + PROBE)
    names, devices = named_and_open(step)
    assert names == devices == ["1", "2"]
    script = f"#!/bin/bash\n{TELL}{PROBE}srun --gres=none sh -c 'echo step ${{NV_GPU-none}}'\necho done\n"
    idle.out(HEAD, "rm -f gpus.out; cat > gpus.sh", KIRA, script)
    job = idle.out(HEAD, f"sbatch --parsable {ON_NODE} --gres=gpu:3 -o gpus.out gpus.sh", KIRA)
    idle.wait_for(job, "COMPLETED")

    def output() -> str:
        text = idle.run(HEAD, "cat gpus.out", KIRA).stdout
        return text if "done" in text else ""

    batch = until(output, "its output is there")
    names, devices = named_and_open(batch)
    assert names == devices == ["1", "2", "3"]
    assert "step none" in batch.splitlines()
    assert "none" in idle.out(HEAD, f"srun {ON_NODE} sh -c 'echo ${{NV_GPU-none}}'", KIRA)


@pytest.mark.promise("SDU-013")
def test_new_variables_apply_to_the_next_job_and_disturb_nothing(changed: Changed) -> None:
    """A changed prolog or epilog restarts no daemon and needs no reconfigure, and a running job survives."""
    new = 'environment:\n  job: {SCRATCH: "/coc/scratch/{account}/{user}"}\n'
    scratch = changed("software.yml", "environment:\n", new)
    running = scratch.submit(KIRA, ON_NODE)
    started = scratch.wait_for(running, "RUNNING")

    def daemons() -> list[str]:
        show = "systemctl show -p InvocationID,MainPID --value"
        return [scratch.out(NODE, f"{show} slurmd"), scratch.out("marvin", f"{show} slurmctld")]

    before = daemons()
    done = scratch.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    assert daemons() == before, "slurmctld has another process after it was reconfigured"
    assert scratch.job(running)["StartTime"] == started["StartTime"]
    assert scratch.job(running)["JobState"] == "RUNNING"
    assert scratch.plan() == (0, {})
    mine = "/coc/scratch/kira-lab/u-kira1"
    for options in ("", "--export=NONE"):
        assert scratch.out(HEAD, f"srun {ON_NODE} {options} /bin/sh -c 'echo $SCRATCH'", KIRA) == mine
    script = "#!/bin/bash\necho $SCRATCH\nexport SCRATCH=/mine\nsrun sh -c 'echo $SCRATCH'\n"
    scratch.out(HEAD, "rm -f scratch.out; cat > scratch.sh", KIRA, script)
    job = scratch.out(HEAD, f"SCRATCH=/old sbatch --parsable {ON_NODE} -o scratch.out scratch.sh", KIRA)
    scratch.wait_for(job, "COMPLETED")

    def printed() -> list[str]:
        return scratch.run(HEAD, "cat scratch.out", KIRA).stdout.split()

    until(lambda: printed() == [mine, "/mine"], "what a script changes is kept in its steps", lambda: str(printed()))


@pytest.mark.promise("SKY-165")
def test_files_that_a_user_leaves_are_removed_with_the_last_job_on_the_node(idle: Testbed) -> None:
    theirs, *jobs = [idle.submit(user, ON_NODE) for user in (HAYS, KIRA, KIRA)]
    for job in (theirs, *jobs):
        idle.wait_for(job, "RUNNING")
    idle.out(HEAD, "echo kept > thesis", KIRA)
    leave = (
        "for top in /dev/shm /tmp; do "
        "mkdir -p $top/$USER-dir && echo x > $top/$USER-dir/x && echo x > $top/$USER-torch; done; "
        "ln -s ~/thesis /dev/shm/$USER-link; ln -s /etc /tmp/$USER-etc"
    )
    for user, job in ((HAYS, theirs), (KIRA, jobs[0])):
        idle.out(HEAD, f"srun --overlap --jobid={job} sh -c '{leave}'", user)

    def left(user: str) -> list[str]:
        return idle.out(NODE, f"find /dev/shm /tmp -mindepth 1 -user {user} | sort").splitlines()

    before = {user: left(user) for user in (KIRA, HAYS)}
    assert {"/dev/shm/u-kira1-dir/x", "/dev/shm/u-kira1-link", "/tmp/u-kira1-torch"} < set(before[KIRA])
    for job in jobs:
        assert {user: left(user) for user in (KIRA, HAYS)} == before
        idle.out("marvin", f"scancel {job}")
        # the job is completing until its epilog has ended
        until(lambda job=job: idle.out("marvin", f"squeue -h -j {job} 2>/dev/null || :") == "", "the job has left")
    until(lambda: left(KIRA) == [], "nothing of the user is left", lambda: str(left(KIRA)))
    assert left(HAYS) == before[HAYS]
    assert idle.out(HEAD, "cat thesis", KIRA) == "kept"
    assert idle.run(NODE, "test -e /etc/passwd").returncode == 0

    def log() -> str:
        return idle.out(NODE, "journalctl -q -o cat -t gpupool-epilog | tail -n 1")

    until(lambda: f"job {jobs[1]}: user " in log(), "the epilog has logged the removal", log)
    assert "/dev/shm/u-kira1-torch" in log()


def test_a_node_starts_jobs_while_files_of_an_ended_job_are_removed(idle: Testbed) -> None:
    """Millions of files would keep the node completing; here, the removal waits for a lock of the test."""
    lock = f"/run/gpupool/removal.{idle.out(NODE, f'id -u {KIRA}')}.lock"
    job = idle.submit(KIRA, ON_NODE, "touch /dev/shm/left; sleep 600")
    idle.wait_for(job, "RUNNING")
    until(lambda: idle.run(NODE, "test -e /dev/shm/left").returncode == 0, "the job has left a file")
    holder = f"systemd-run -q --unit gpupool-test-lock flock {lock} sleep 3600"
    idle.out(NODE, f"{holder}; until ! flock -n {lock} true; do :; done")
    try:
        idle.out("marvin", f"scancel {job}")
        other = idle.submit(HAYS, ON_NODE)
        idle.wait_for(other, "RUNNING")
        assert idle.run(NODE, "test -e /dev/shm/left").returncode == 0
    finally:
        idle.out(NODE, "systemctl stop gpupool-test-lock")
    until(lambda: idle.run(NODE, "test -e /dev/shm/left").returncode, "the file is removed")


#: Moves slurmd to a CPU on which the test works: Linux 6.18 numbers namespaces by CPU, and a namespace can only be
#: mounted in another one if its number is higher.
ON_ONE_CPU = """
mkdir -p /run/kept && mount --bind /run/kept /run/kept && mount --make-private /run/kept && touch /run/kept/one
for cpu in $(seq 0 $(($(nproc --all) - 1))); do
  taskset -c $cpu unshare --mount=/run/kept/one true 2>/dev/null || continue
  umount /run/kept/one && taskset -a -c -p $cpu $(systemctl show -P MainPID slurmd) && break
done
umount /run/kept
"""
ON_ALL_CPUS = "taskset -a -c -p 0-$(($(nproc --all) - 1)) $(systemctl show -P MainPID slurmd)"


def test_a_job_has_a_private_tmp_and_a_prolog_of_the_site(changed: Changed) -> None:
    """The private /tmp is only set up while no job runs: new steps of a running job would fail."""
    own = changed("software.yml", "environment:\n", "environment:\n  private_tmp: /var/local/jobs\n")
    (own.inventory / "slurm").mkdir()
    (own.inventory / "slurm/prolog-scratch").write_text("#!/bin/sh\n[ ! -e /run/fails ] || exit 3\n")
    running = own.submit(KIRA, ON_NODE)
    own.wait_for(running, "RUNNING")
    refused = own.apply()
    assert refused.returncode == 1
    assert "/etc/slurm/job_container.conf changes" in refused.stdout + refused.stderr
    own.out("marvin", f"scancel {running}")
    until(lambda: cleared(own), "no job runs")
    done = own.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    own.out(NODE, ON_ONE_CPU)
    write = "echo $SLURM_JOB_ID > /tmp/own; echo $SLURM_JOB_ID > /dev/shm/own"
    jobs = [own.submit(KIRA, ON_NODE, f"{write}; sleep 600") for _ in range(2)]
    for job in jobs:
        own.wait_for(job, "RUNNING")
        read = f"srun --overlap --jobid={job} cat /tmp/own /dev/shm/own"
        until(lambda job=job, read=read: own.run(HEAD, read, KIRA).stdout.split() == [job, job], "each sees its own")
    assert own.out(NODE, "ls /tmp/own /dev/shm/own 2>/dev/null || echo none") == "none"
    own.out("marvin", f"scancel {' '.join(jobs)}")
    until(lambda: cleared(own), "no job runs")
    assert own.out(NODE, "find /var/local/jobs -name own") == ""
    own.out(NODE, ON_ALL_CPUS)
    why = "Reason=prolog-scratch failed with exit status 3 "
    own.out(NODE, "touch /run/fails")
    try:
        own.submit(KIRA, ON_NODE)
        until(lambda: why in own.out("marvin", f"scontrol show node {NODE}"), "the drain names the program")
        # slurmd has reported the failure, too
        until(lambda: "held" in own.out("marvin", "squeue -h -o %r"), "the job is held")
        assert why in own.out("marvin", f"scontrol show node {NODE}")
    finally:
        own.out(NODE, "rm /run/fails")
        own.cancel_jobs()
        own.run("marvin", f"scontrol update nodename={NODE} state=resume")
