"""Attacks: ways in which users of this cluster have tried to take more than their share, and the result of each."""

import re
import time
from collections.abc import Iterator

import pytest
from pace import until

from gpupool.slurm.keys.limits import ASSOC_FIELDS
from tests.testbed.cluster import Testbed

REFUSED = "Job violates accounting/QOS policy"
OPEN_ALL = "for gpu in /dev/nvidia[0-9]*; do { : <$gpu; } 2>&1; done"


@pytest.fixture
def slurmctld(idle: Testbed) -> Iterator[Testbed]:
    """The cluster; its slurmctld must be the same process at the end."""
    look = "systemctl show -p ActiveEnterTimestamp,NRestarts,MainPID slurmctld"
    before = idle.out("marvin", look)
    yield idle
    assert idle.out("marvin", look) == before


def refused(testbed: Testbed, options: str, user: str = "u-wu1") -> str:
    """Submit a job that must be refused, and return the message to its user."""
    done = testbed.run("sky1", f"sbatch {options} --wrap 'sleep 600'", user)
    assert done.returncode, f"{options}: {done.stdout}"
    assert testbed.out("marvin", "squeue -h") == ""
    return done.stderr


def held(testbed: Testbed, options: str, user: str = "u-wu1") -> str:
    return testbed.submit(user, f"-H {options}")


def changed(testbed: Testbed, job: str, change: str, user: str = "u-wu1") -> str:
    """Return the message to a user who changes a job, which must stay unchanged."""
    before = testbed.out("marvin", f"scontrol -o show job {job}")
    done = testbed.run("sky1", f"scontrol update jobid={job} {change}", user)
    assert done.returncode, f"{change} was taken"
    assert testbed.out("marvin", f"scontrol -o show job {job}") == before
    return done.stderr


# Refused by Slurm itself


@pytest.mark.parametrize("options", ["--gpus=2", "-n 1", "-H -n 1 --gres=gpu:1", "-H -N 2 --gpus-per-task=1 -n 2"])
def test_a_spread_job_does_not_end_slurmctld(slurmctld: Testbed, options: str) -> None:
    assert "--spread-job is not supported on this cluster" in refused(slurmctld, f"-p short {options} --spread-job")
    assert slurmctld.out("sky1", "srun -p debug hostname", "u-hays1")


def test_no_user_keeps_others_from_submitting(slurmctld: Testbed) -> None:
    limit = slurmctld.cluster.scheduler.max_submitted_jobs
    assert limit
    array = "-p long -H --array=1-1000"
    answers = [slurmctld.run("sky1", f"sbatch {array} --wrap true", "u-wu1") for _ in range(limit // 1000 + 1)]
    assert REFUSED in answers[-1].stderr
    shown = slurmctld.out("marvin", "scontrol show config | grep -E '^MaxJobCount'")
    assert int(shown.split()[-1]) >= 10 * limit
    job = slurmctld.submit("u-kira1", "-p short --gres=gpu:1")
    slurmctld.wait_for(job, "RUNNING")


# Memory and CPUs beside GPUs that others own


@pytest.mark.promise("SKY-036")
@pytest.mark.parametrize(
    "options",
    [
        "-O -n 93 --mem=372G -w clippy",
        "-O -n 93 --mem=372G",
        "-n 28 --mem=112G",
        "-n 4 --ntasks-per-node=4 --mem=16G",
        "-O -N 2 --ntasks-per-node=8 --mem=32G",
        "-N 1-4 -n 8 --mem=32G",
    ],
)
def test_cpus_do_not_hold_more_memory_than_theirs(idle: Testbed, options: str) -> None:
    assert "at most 4G per CPU" in refused(idle, f"-p long {options}")


@pytest.mark.promise("SKY-036")
@pytest.mark.parametrize(
    "options",
    [
        "--gpus=1 --mincpus=8 --mem-per-cpu=44G",
        "--gpus=2 --mem=88G",
        "--gpus=2 --ntasks-per-gpu=1 --mem=88G",
        "--gpus-per-task=1 -n 2 --mem=88G",
        "--gres=gpu:1 --mem=45G",
    ],
)
def test_gpus_do_not_hold_more_memory_than_theirs(idle: Testbed, options: str) -> None:
    assert "at most 44G per GPU" in refused(idle, f"-p long {options}", "u-kira1")


@pytest.mark.promise("SKY-036")
@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ("-N 1 -n 8 --mem=32G", ["NumTasks=1", "NumCPUs=1-1", "NumNodes=1-8", "NumNodes=8", "MinMemoryNode=33G"]),
        ("-N 1 -c 8 --mem=32G", ["NumTasks=1 NumCPUs=1-1 MinCPUsNode=1", "MinMemoryNode=0", "MinMemoryCPU=5G"]),
        ("-N 1 --gpus=2 --mem=80G", ["NumNodes=2", "TresPerJob=gres/gpu:1", "MinMemoryNode=90G"]),
        ("-N 1 --gres=gpu:1 --mincpus=8 --mem-per-cpu=5G", ["MinMemoryCPU=44G", "MinCPUsNode=20", "Gres=gpu:0"]),
    ],
)
def test_a_change_of_the_job_does_not_hold_more_memory_either(
    slurmctld: Testbed, options: str, changes: list[str]
) -> None:
    job = held(slurmctld, f"-p long {options}", "u-kira1")
    for words in changes:
        changed(slurmctld, job, words, "u-kira1")


@pytest.mark.promise("SKY-036")
@pytest.mark.parametrize(
    "options",
    [
        "",
        "-c 8 --mem=32G",
        "-n 8 --mem-per-cpu=4G",
        "-N 1 -n 8 --mem=32G",
        "-N 2 -n 16 --ntasks-per-node=8 --mem=16G",
        "--gres=gpu:1 -c 7 --mem=40G",
        "-N 1 --gpus=2 --mem=88G",
        "--gpus=2 --mem-per-gpu=44G",
        "--gpus-per-task=1 -n 2 -c 4 --mem-per-gpu=40G",
        "--gres=gpu:2 -n 2 --mem=60G",
    ],
)
def test_ordinary_jobs_are_accepted(idle: Testbed, options: str) -> None:
    assert held(idle, f"-p long {options}", "u-kira1")


@pytest.mark.promise("SKY-036", "SKY-142")
def test_jobs_without_gpus_leave_six_cpus_beside_each_gpu(idle: Testbed) -> None:
    """The guide's golden ratio, in any order of submission."""
    small = idle.submit("u-hoffman1", "-p long -c 1 --array=1-60 --mem=1G")
    until(lambda: idle.job(small)["JobState"] == "RUNNING", "jobs without GPUs run", lambda: str(idle.job(small)))
    node = idle.cluster.nodes["clippy"]
    jobs = idle.submit("u-cvmlp1", f"-p long -w clippy --gres=gpu:1 -c 6 --mem-per-gpu=1G --array=1-{node.gpu_count}")
    count = f"squeue -h -r -t R -j {jobs} | wc -l"
    until(lambda: idle.out("marvin", count) == str(node.gpu_count), "all GPUs of clippy are used")


# Jobs that cannot be preempted


@pytest.mark.promise("SKY-119", "SKY-121")
@pytest.mark.parametrize(
    "options",
    [
        "-p long -n 1 : -p overcap -A overcap --gres=gpu:8",
        "-p overcap -A overcap --gres=gpu:8 : -p long -n 1",
        "-p long -n 1 : -p user-overcap --gres=gpu:1",
    ],
)
def test_a_job_of_several_components_does_not_run_in_overcap(slurmctld: Testbed, options: str) -> None:
    assert "A heterogeneous job cannot run in" in refused(slurmctld, options)


@pytest.mark.promise("SKY-119", "SKY-121")
def test_a_component_cannot_be_moved_to_overcap(slurmctld: Testbed) -> None:
    job = held(slurmctld, "-p long -n 1 : -H -p short -n 1")
    for offset in (0, 1):
        words = f"jobid={job}+{offset} partition=user-overcap"
        done = slurmctld.run("sky1", f"scontrol update {words}", "u-wu1")
        assert done.returncode, words
    assert set(slurmctld.out("marvin", "squeue -h -o %P").split()) == {"long", "short"}


# GPUs outside of jobs


@pytest.mark.promise("SKY-160")
def test_a_session_opens_no_gpu_and_a_job_only_its_own(idle: Testbed) -> None:
    """By ssh from outside, and by ssh from inside of a job to its own node."""
    number = idle.cluster.nodes["a40-01"].gpu_count
    key = "mkdir -p ~/.ssh; test -f ~/.ssh/attack || ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/attack"
    keys = "~/.ssh/authorized_keys"
    idle.out("sky1", f"{key}; cp -p {keys} ~/keys.before; cat ~/.ssh/attack.pub >> {keys}", "u-kira1")
    try:
        inside = "ssh -n -i ~/.ssh/attack -o IdentitiesOnly=yes -o StrictHostKeyChecking=no localhost"
        script = f"#!/bin/bash\n{OPEN_ALL}\necho --\n{inside} '{OPEN_ALL}'\ntrue\n"
        idle.out("sky1", "cat > attack.sh", "u-kira1", script)
        output = idle.out("sky1", "srun -p debug -w a40-01 --gres=gpu:1 bash attack.sh 2>&1", "u-kira1")
    finally:
        idle.out("sky1", f"mv ~/keys.before {keys}; rm -f ~/.ssh/attack ~/.ssh/attack.pub ~/attack.sh", "u-kira1")
    of_job, of_ssh = output.split("--\n")
    assert of_job.count("No such device") == 1, "the job's own, which has no driver"
    assert of_job.count("not permitted") == number - 1
    assert of_ssh.count("not permitted") == number, of_ssh
    from_head = idle.run("a40-01", OPEN_ALL, "u-kira1")
    assert (from_head.stdout + from_head.stderr).count("not permitted") == number
    # admins of the node are root
    of_root = idle.run("a40-01", OPEN_ALL)
    assert (of_root.stdout + of_root.stderr).count("No such device") == number
    # the other devices that a session needs exist
    assert idle.out(
        "a40-01", "script -qc 'tty; echo x >/dev/null; head -c 1 /dev/urandom | wc -c' /dev/null", "u-kira1"
    )


# The arbiter


@pytest.mark.promise("SKY-126", "SKY-138")
@pytest.mark.parametrize("constraint", ["[rtx_6000|a40]", "rtx_6000*1", "(a40)", "a40|(rtx_6000&titan_x)", "a40&a40"])
def test_a_constraint_of_one_user_does_not_stop_the_arbiter_for_others(idle: Testbed, constraint: str) -> None:
    borrow = "-p user-overcap --requeue --gres=gpu:1"
    for user, lab in (("u-rail1", "rail-lab"), ("u-wu1", "wu-lab")):
        cap = idle.cluster.accounts[lab].limits.group.gpu
        assert cap
        for _ in range(cap):
            idle.wait_for(idle.submit(user, borrow), "RUNNING")
    began = time.time()
    odd = idle.submit("u-rail2", f'-p short --gres=gpu:1 -C "{constraint}"')
    idle.wait_for(odd, "PENDING", "AssocGrpGRES")
    mate = idle.submit("u-wu2", "-p short --gres=gpu:1")
    idle.wait_for(mate, "RUNNING")
    output = idle.out("marvin", f"journalctl -q -o cat -u gpupool-arbiter --since @{began:.0f}")
    assert "doing nothing" not in output


@pytest.mark.promise("SKY-126")
@pytest.mark.parametrize("wish", ["--dependency=singleton", "--comment=x --mail-type=ALL", "--reboot", "--no-kill"])
def test_no_option_of_a_borrower_prevents_its_preemption(idle: Testbed, wish: str) -> None:
    cap = idle.cluster.accounts["wu-lab"].limits.group.gpu
    done = idle.run("sky1", f"sbatch --parsable -p user-overcap --gres=gpu:{cap} {wish} --wrap 'sleep 600'", "u-wu1")
    if done.returncode:
        return  # refused: no job to evict
    borrower = done.stdout.strip()
    idle.wait_for(borrower, "RUNNING")
    mate = idle.submit("u-wu2", "-p short --gres=gpu:1")
    idle.wait_for(mate, "RUNNING")


# Accounts


@pytest.fixture
def added(idle: Testbed) -> Iterator[str]:
    """Add an account below the lab's as a coordinator, with a user of the lab."""
    (coordinator, *_) = idle.cluster.accounts["cvmlp-lab"].coordinators
    name = "sub-cvmlp"
    for words in (f"add account {name} parent=cvmlp-lab", f"add user u-cvmlp1 account={name}"):
        idle.out("sky1", f"sacctmgr -iQ {words}", coordinator)
    yield name
    idle.cancel_jobs()
    idle.out("marvin", f"sacctmgr -iQ delete account {name} || true")


@pytest.mark.promise("SKY-158")
def test_an_account_that_a_coordinator_added_avoids_no_limit(idle: Testbed, added: str) -> None:
    assert f"Account {added} is not in the inventory" in refused(idle, f"-A {added} -p short --gres=gpu:1", "u-cvmlp1")
    job = held(idle, "-p short --gres=gpu:1", "u-cvmlp1")
    changed(idle, job, f"account={added}", "u-cvmlp1")
    assert idle.job(job)["QOS"] == "cvmlp-user-limits"


@pytest.mark.promise("SKY-033")
def test_no_name_that_a_coordinator_gives_keeps_apply_from_the_accounting(idle: Testbed) -> None:
    """Names with line feeds, |, bytes that are not UTF-8, or a whole row of sacctmgr's output."""
    (coordinator, *_) = idle.cluster.accounts["cvmlp-lab"].coordinators
    row = f"{idle.cluster.name}|hays-lab|||root|1" + "|" * (len(ASSOC_FIELDS) - 1)
    names = ["bad\\nname", "evil|x;$(id)", "by\\377te", "cr\\rhere", f"x\\n{row}\\ny", "x" * 200]
    add = "; ".join(f"sacctmgr -iQ add account \"$(printf '%b' '{name}')\" parent=cvmlp-lab" for name in names)
    user = "sacctmgr -iQ add user \"$(printf 'us\\ner')\" account=cvmlp-lab"
    idle.out("sky1", f"{{ {add}; {user}; }} >/dev/null", coordinator)
    idle.out("marvin", "sacctmgr -iQ modify account name=hays-lab set GrpJobs=3")
    code, changes = idle.plan("--limit", "marvin")
    assert (code, len(changes["marvin"])) == (3, len(names) + 2), changes
    done = idle.apply("--limit", "marvin")
    assert done.returncode == 0, done.stdout
    assert idle.plan("--limit", "marvin") == (0, {})
    accounts = idle.out("marvin", "sacctmgr -nP show assoc user= format=Account").splitlines()
    assert set(accounts) == {"root", *idle.cluster.accounts}


# Limits that a single job exceeds


@pytest.mark.promise("SKY-153", "SKY-157")
@pytest.mark.parametrize("options", ["-p debug --gres=gpu:6", "-p hoffman-lab --qos=short -t 7-00:00"])
def test_a_job_that_can_never_start_is_refused(idle: Testbed, options: str) -> None:
    message = refused(idle, options, "u-hoffman1")
    assert re.search(r"violates|limit", message), message
