"""The user guide of a Slurm cluster on Google Cloud, in its order: a user's commands and their results.

Its nodes are off until a job needs them. Tests of cases that the guide does not describe come after it.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from inventories import INVENTORY
from pace import until

from tests.guides.deployed import Deployed
from tests.guides.terminal import Terminal
from tests.testbed.cluster import Testbed, docker, gpupool, up

LOGIN, CONTROLLER = "mlmini-login-0", "mlmini-controller"
WORKERS = ("mlmini-g2-ghpc-0", "mlmini-g2-ghpc-1")
OTHER = "mlmini-cpu-ghpc-0"
ALL = (*WORKERS, OTHER)
ME, COLLEAGUE = "user_one_example_org", "user_two_example_org"
NETWORK = "10.179.0.0/16"
INSTALLER = (Path(__file__).parents[1] / "shared" / "conda_installer.sh").read_text()
MINICONDA = "Miniconda3-py310_23.10.0-1-Linux-x86_64.sh"
STALE = "gpupool: elastic: older than the inventory: run gpupool apply"
#: Lists the GPUs that the job may open, as the driver's program does; there is no driver.
SMI = """#!/bin/sh
for device in /dev/nvidia[0-9]*; do
  (: < "$device") 2>&1 | grep -q 'not permitted' || echo "GPU ${device#/dev/nvidia}"
done
"""


@pytest.fixture(scope="module")
def mlmini(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """The cluster, from a copy of its inventory, which a test may change."""
    inventory = Path(shutil.copytree(INVENTORY / "gcp-slurm", tmp_path_factory.mktemp("inventory") / "gcp-slurm"))
    testbed = up(inventory, NETWORK)
    for node in WORKERS:
        testbed.out(node, "cat > /usr/local/bin/nvidia-smi && chmod 755 /usr/local/bin/nvidia-smi", text=SMI)
    yield testbed
    if not os.environ.get("GPUPOOL_TEST_KEEP"):
        gpupool("testbed", "down", inventory)


@pytest.fixture
def login(mlmini: Testbed) -> Iterator[Terminal]:
    """A log-in on the login node, without jobs of earlier tests."""
    mlmini.end_jobs()
    with Terminal(mlmini, LOGIN, ME) as terminal:
        yield terminal


@pytest.fixture
def off(mlmini: Testbed, login: Terminal) -> Testbed:
    """The cluster with all its workers off, in Slurm and in fact."""
    switch_off(mlmini)
    return mlmini


def switch_off(mlmini: Testbed) -> None:
    until(lambda: set(states(mlmini)) == set(ALL), "Slurm answers")
    for node, state in states(mlmini).items():
        if "DOWN" in state:
            mlmini.out(CONTROLLER, f"scontrol update nodename={node} state=resume")
    until(
        lambda: all(is_off(mlmini, node) for node in ALL) or not asked_off(mlmini),
        "all workers are off",
        lambda: str(states(mlmini)),
    )


def asked_off(mlmini: Testbed) -> bool:
    """Ask Slurm to switch off the workers that are on; return False, for a caller that polls."""
    awake = [node for node, state in states(mlmini).items() if state == {"IDLE", "CLOUD"}]
    for node, state in states(mlmini).items():
        if "POWERED_DOWN" in state and is_on(mlmini, node):
            mlmini.switch_off(node)  # `testbed up` has started it while it was being switched off
    if awake:
        mlmini.out(CONTROLLER, f"scontrol update nodename={','.join(awake)} state=power_down")
    return True


def states(mlmini: Testbed) -> dict[str, set[str]]:
    """Return the words of each worker's state."""
    output = mlmini.out(CONTROLLER, "scontrol -o show nodes")
    return {
        name: set(state.split("+")) - {"NOT_RESPONDING"}
        for name, state in re.findall(r"^NodeName=(\S+) .*?\bState=(\S+)", output, re.MULTILINE)
    }


def reason(mlmini: Testbed, node: str) -> str:
    return mlmini.out(CONTROLLER, f"sinfo -h -N -n {node} -o %E | head -n 1")


def is_on(mlmini: Testbed, node: str) -> bool:
    """Return whether the machine of a node is on."""
    return docker("inspect", "--format", "{{.State.Running}}", mlmini.container(node)) == "true"


def is_off(mlmini: Testbed, node: str) -> bool:
    return "POWERED_DOWN" in states(mlmini)[node] and not is_on(mlmini, node)


def switched(mlmini: Testbed, power: str) -> list[str]:
    """Return the nodes that were ever switched on, or off, in order."""
    return re.findall(
        rf"(\S+): switching it {power}$", mlmini.out(CONTROLLER, "journalctl -u gpupool-elastic -o cat"), re.M
    )


def ended(mlmini: Testbed, job: str) -> dict[str, str]:
    return mlmini.wait_for(job, "COMPLETED")


# Overview


@pytest.mark.promise("GCP-001", "GCP-002", "GCP-003", "GCP-004")
def test_users_work_on_the_login_node_and_jobs_on_the_workers(mlmini: Testbed, login: Terminal) -> None:
    assert LOGIN in login.type("hostname")
    assert mlmini.out(LOGIN, "scontrol ping", ME).endswith("is UP")
    assert sorted(set(mlmini.out(LOGIN, "sinfo -h -N -o %N", ME).split())) == sorted(ALL)
    assert mlmini.run(CONTROLLER, "true", ME).returncode == 255
    assert mlmini.out(LOGIN, "srun hostname", ME) in WORKERS


@pytest.mark.promise("GCP-005")
def test_the_home_is_on_all_workers(mlmini: Testbed, login: Terminal) -> None:
    login.type("echo mine > ~/here")
    assert mlmini.out(LOGIN, "srun cat here; rm here", ME) == "mine"


@pytest.mark.promise("GCP-006", "GCP-007", "GCP-008", "GCP-031")
def test_a_job_without_a_partition_is_sent_to_its_users_own(mlmini: Testbed, login: Terminal) -> None:
    for user, partition in ((ME, "g2"), (COLLEAGUE, "cpu")):
        job = mlmini.out(LOGIN, "sbatch --parsable -o /dev/null --wrap true", user)
        assert mlmini.job(job)["Partition"] == partition
        assert ended(mlmini, job)["NodeList"].startswith(f"mlmini-{partition}-ghpc-")
    refused = mlmini.run(LOGIN, "sbatch -p g2 --wrap true", COLLEAGUE)
    assert refused.returncode
    assert "g2" in refused.stderr
    tiers = dict(re.findall(r"PartitionName=(\w+).*?PriorityTier=(\d+)", mlmini.out(LOGIN, "scontrol -o show part")))
    assert tiers == {"g2": "10", "cpu": "5"}


# Job execution


@pytest.mark.promise("GCP-011", "GCP-012", "GCP-013", "GCP-030")
def test_an_interactive_job_is_a_shell_on_a_worker(mlmini: Testbed, login: Terminal) -> None:
    line = "srun --partition g2 --nodes=1 --gpus-per-node=1 --time=01:00:00 --pty bash -i"
    for printed in (line, line.replace("--partition g2", "--partition=g2").replace(" --time=01:00:00", "")):
        login.type(printed, r"@mlmini-g2-ghpc-[01]:~\$ \Z")
        assert re.search(r"^mlmini-g2-ghpc-[01]$", login.type("hostname"), re.MULTILINE)
        assert "\n0\n" in login.type("echo $CUDA_VISIBLE_DEVICES")
        login.type("exit", rf"@{LOGIN}:~\$ \Z")


MYJOB = """#!/bin/bash

# Command line options go here
#SBATCH --partition=g2
#SBATCH --time=00:01:00
#SBATCH --nodes=1
#SBATCH --job-name=example
#SBATCH --output=example.out
#SBATCH --gpus-per-node=1

# Command(s) goes here
nvidia-smi
"""


@pytest.mark.promise("GCP-011", "GCP-014", "GCP-015")
def test_a_batch_job_runs_as_printed(mlmini: Testbed, login: Terminal) -> None:
    mlmini.out(LOGIN, "rm -f example.out; cat > myjob.sh", ME, MYJOB)
    submitted = re.search(r"^Submitted batch job (\d+)$", login.type("sbatch myjob.sh"), re.MULTILINE)
    assert submitted
    job = ended(mlmini, submitted[1])
    assert (job["JobName"], job["TimeLimit"]) == ("example", "00:01:00")
    assert mlmini.out(LOGIN, "cat example.out", ME) == "GPU 0"


@pytest.mark.promise("GCP-016", "GCP-017", "GCP-019", "GCP-034")
def test_jobs_are_looked_up_while_their_nodes_start_and_cancelled(off: Testbed, login: Terminal) -> None:
    mlmini = off
    mlmini.out(LOGIN, "cat > myjob.sh", ME, MYJOB.replace("nvidia-smi", "sleep 600").replace("nodes=1", "nodes=2"))
    submitted = re.search(r"Submitted batch job (\d+)", login.type("sbatch myjob.sh"))
    assert submitted
    login.type(f"JOBID={submitted[1]}")
    until(lambda: "CONFIGURING" in mlmini.job(submitted[1])["JobState"], "its nodes start")
    shown = login.type("squeue --job $JOBID")
    assert re.search(r"^ +JOBID PARTITION +NAME +USER ST +TIME +NODES NODELIST\(REASON\)$", shown, re.MULTILINE)
    row = r"^ +{} +g2 +example +user_one +{} +\d+:\d\d +2 mlmini-g2-ghpc-\[0-1\]$"
    assert re.search(row.format(submitted[1], "CF"), shown, re.MULTILINE), shown
    mlmini.wait_for(submitted[1], "RUNNING")
    until(lambda: re.search(row.format(submitted[1], "R"), login.type("squeue"), re.MULTILINE), "it is shown to run")
    login.type("scancel $JOBID")
    mlmini.wait_for(submitted[1], "CANCELLED")


# Environment


JOB = """#!/bin/bash
#SBATCH --output=job.out
# ...

# Activate the correct conda environment
source ~/miniconda3/etc/profile.d/conda.sh
conda activate myenv

# ...
which python
"""


@pytest.mark.promise("GCP-022", "GCP-023", "GCP-024", "GCP-028")
def test_miniconda_is_installed_by_its_user_and_activated_in_a_job(mlmini: Testbed, login: Terminal) -> None:
    """The installer is a stand-in with the same questions: the internet cannot be reached."""
    assert "GNU Wget" in login.type("wget --version")
    mlmini.out(LOGIN, f"rm -rf miniconda3 job.out .conda; cat > {MINICONDA}", ME, INSTALLER)
    login.type(f"bash {MINICONDA}", r"press ENTER to continue\s+>>> \Z")
    login.type("", r"\[yes\|no\]\s+>>> \Z")
    login.type("yes", r"\[/home/\w+/miniconda3\] >>> \Z")
    login.type("")
    login.type("source ~/.bashrc")
    login.type("conda create -n myenv python=3.9")
    login.type("conda activate myenv")
    assert f"/home/{ME}/miniconda3/envs/myenv/bin/python\n" in login.type("which python")
    mlmini.out(LOGIN, "cat > job.sh", ME, JOB)
    ended(mlmini, mlmini.out(LOGIN, "sbatch --parsable job.sh", ME))
    assert mlmini.out(LOGIN, "cat job.out", ME) == f"/home/{ME}/miniconda3/envs/myenv/bin/python"


# Nodes that are off while they are not needed


@pytest.mark.promise("GCP-017", "GCP-033")
def test_twenty_jobs_power_two_nodes_up_once(off: Testbed) -> None:
    mlmini, before = off, len(switched(off, "on"))
    assert not any(is_on(mlmini, node) for node in ALL)
    jobs = [mlmini.submit(ME, "-p g2 --gpus=1", "sleep 1") for _ in range(20)]
    until(lambda: "CONFIGURING" in mlmini.job(jobs[0])["JobState"], "the first one waits for its node")
    assert {ended(mlmini, job)["NodeList"] for job in jobs} == set(WORKERS)
    assert sorted(switched(mlmini, "on")[before:]) == sorted(WORKERS), "each once, and none in vain"
    assert not is_on(mlmini, OTHER)


@pytest.mark.promise("GCP-018")
def test_nodes_without_jobs_are_powered_down_again(mlmini: Testbed, login: Terminal) -> None:
    assert mlmini.out(LOGIN, "srun -p g2 hostname", ME) in WORKERS
    until(lambda: all(is_off(mlmini, node) for node in ALL), "all are off", lambda: str(states(mlmini)))
    # users see the nodes nevertheless
    assert mlmini.out(LOGIN, "sinfo -h -N -o '%N %t'", ME).split() == [w for n in sorted(ALL) for w in (n, "idle~")]


@contextmanager
def _occupied(mlmini: Testbed, node: str) -> Iterator[None]:
    """Give a node's address to another container, so that docker refuses to start the node."""
    assert mlmini.target.testbed
    name = mlmini.container("in-the-way")
    image = docker("inspect", "--format", "{{.Config.Image}}", mlmini.container(node))
    address = mlmini.cluster.nodes[node].address or ""
    docker(
        "run", "--detach", "--name", name, "--network", mlmini.target.testbed.id, "--ip", address, image, "sleep", "inf"
    )
    try:
        yield
    finally:
        docker("rm", "--force", name)


def test_a_node_that_cannot_start_is_marked_and_its_job_runs_on_another(off: Testbed) -> None:
    mlmini, (first, second) = off, WORKERS
    with _occupied(mlmini, first):
        job = mlmini.submit(ME, "-p g2 --gpus=1", "sleep 1")
        until(lambda: "DOWN" in states(mlmini)[first], "the node is marked", lambda: str(states(mlmini)))
        assert reason(mlmini, first).startswith("gpupool: elastic: cannot be started: ")
        assert "Address already in use" in reason(mlmini, first)
        assert ended(mlmini, job)["NodeList"] == second
        assert mlmini.job(job)["Restarts"] == "1"
    # an admin resumes the repaired node
    mlmini.out(CONTROLLER, f"scontrol update nodename={first} state=resume")
    assert mlmini.out(LOGIN, f"srun -p g2 -w {first} hostname", ME) == first


def test_a_controller_that_restarts_while_a_node_starts_loses_nothing(off: Testbed) -> None:
    mlmini = off
    # the request exists, and elastic has not acted on it
    mlmini.out(CONTROLLER, "systemctl stop gpupool-elastic")
    job = mlmini.submit(ME, "-p g2 --gpus=1", "sleep 1")
    until(lambda: any("POWERING_UP" in state for state in states(mlmini).values()), "a node is to start")
    until(lambda: mlmini.run(CONTROLLER, "grep -l on /var/spool/slurmctld/gpupool-elastic/*").stdout, "a wish is there")
    mlmini.switch_off(CONTROLLER)
    mlmini.switch_on(CONTROLLER)
    until(lambda: mlmini.run(CONTROLLER, "scontrol ping").stdout.strip().endswith("is UP"), "it is back")
    assert ended(mlmini, job)["Restarts"] == "0"


def test_powered_down_nodes_are_no_error_for_the_admin(off: Testbed) -> None:
    for words in (("plan",), ("apply", "--yes"), ("verify",)):
        done = gpupool(*words, off.inventory, "--on", "testbed")
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"asleep: {', '.join(ALL)}" in done.stdout
    assert not any(is_on(off, node) for node in ALL)


class TestDeployedCluster(Deployed):
    """The tests of every cluster, while the nodes are off."""

    @pytest.fixture
    def testbed(self, off: Testbed) -> Testbed:
        return off


def test_a_node_that_starts_outdated_is_named_and_runs_no_job(off: Testbed) -> None:
    mlmini = off
    file, zone = mlmini.inventory / "cluster.yml", "Europe/Berlin"
    file.write_text(file.read_text().replace("  network:", f"  timezone: {zone}\n  network:"))
    done = mlmini.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"asleep: {', '.join(ALL)}" in done.stdout
    job = mlmini.submit(ME, "-p g2 --gpus=1 -w mlmini-g2-ghpc-0", "sleep 1")
    first = WORKERS[0]
    until(lambda: STALE in reason(mlmini, first), "the node is named", lambda: reason(mlmini, first))
    until(lambda: mlmini.job(job)["JobState"] == "PENDING", "its job waits")
    assert not mlmini.out(first, "readlink /etc/localtime").endswith(zone)
    # the node is on, and waits for an apply
    done = mlmini.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"asleep: {', '.join(ALL[1:])}" in done.stdout
    assert ended(mlmini, job)["NodeList"] == first
    assert mlmini.out(first, "readlink /etc/localtime").endswith(zone)
    # the others are powered up for the apply by hand
    mlmini.out(CONTROLLER, f"scontrol update nodename={','.join(ALL[1:])} state=power_up")
    for node in ALL[1:]:
        until(lambda node=node: STALE in reason(mlmini, node), f"{node} is named", lambda: str(states(mlmini)))
    done = mlmini.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "asleep" not in done.stdout
    until(lambda: not any("DOWN" in state for state in states(mlmini).values()), "all may get jobs")
    done = gpupool("verify", mlmini.inventory, "--on", "testbed")
    assert done.returncode == 0, done.stdout
    switch_off(mlmini)
    assert mlmini.out(LOGIN, f"srun -p g2 -w {WORKERS[1]} hostname", ME) == WORKERS[1]
