"""Slurm 24.11 is upgraded to 26.05 by one line and one command; jobs survive kills and a broken database."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from pace import until

from tests.testbed.cluster import ROOT, Testbed, gpupool, up

NETWORK = "10.186.0.0/16"
HEAD = "ctl"
INVENTORY = """schema: 1
cluster: {name: upgrade, domain: upgrade.example, network: 10.90.0.0/16}
gpu_types: {a40: {models: [A40]}}
hardware: {box: {cpus: 8, memory: 64G, gpu_slots: 2, cpus_kept_per_gpu: 2}}
nodes:
  - {name: ctl, address: 10.90.1.1, roles: [head, controller, database]}
  - {name: "gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 2}}
accounts: [{name: red, kind: lab, gid: 5001, contributed_gpus: 4}]
users: [{name: ann, uid: 20001, account: red}]
qos: {normal: {default: true}}
partitions: [{name: all, nodes: "@compute", max_time: 2d, default_time: 1h}]
scheduler:
  default_partition: all
  default_memory: {per_gpu: 8G, per_cpu: 1G}
  max_memory: {per_gpu: 16G, per_cpu: 2G}
slurm:
  version: "24.11"
  backup: {to: /srv/backup/slurm, keep: 20}
testbed: {nodes: "ctl,gpu-[1-2]"}
access: {keys: homes}
"""
JOBS = "squeue -h -a -o '%i %T %u %N %S' | sort"
FIELDS = "JobID,User,Account,Partition,State,ExitCode,Submit,Start,Restarts,AllocTRES"
ENDED = f"TZ=UTC sacct -anXP -S now-2days -E now -o {FIELDS}"
#: Ends the new slurmdbd after it has converted its database, which the old slurmdbd cannot read.
FAILING = "/etc/systemd/system/slurmdbd.service.d/failing.conf"
FAIL = "[Service]\nExecStartPost=/bin/sh -c '! slurmdbd -V | grep -q 26.05'\n"


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A cluster of Slurm 24.11 with ended jobs and two running ones: one of them starts steps all the time."""
    inventory = tmp_path_factory.mktemp("upgrade") / "site"
    inventory.mkdir()
    (inventory / "inventory.yml").write_text(INVENTORY)
    try:
        testbed = up(inventory, NETWORK)
        testbed.submit("ann", "-w gpu-1 -G 1", "sleep 36000")
        testbed.submit("ann", "-w gpu-2 -G 1", "while :; do srun true; sleep 5; done")
        for script in ("srun true", "exit 3"):
            testbed.submit("ann", "-G 1", script)
        until(lambda: testbed.out(HEAD, f"{ENDED} -s completed,failed | wc -l") == "2", "two jobs have ended")
        # slurmdbd has recorded their end before slurmctld forgets them
        until(lambda: testbed.out(HEAD, "squeue -h -a -o %T | sort -u") == "RUNNING", "no job completes any more")
        yield testbed
    finally:
        gpupool("testbed", "down", inventory)


@pytest.fixture(scope="module")
def jobs(testbed: Testbed) -> str:
    """Return the running jobs, each with its node and its start, which a requeue would change."""
    running = testbed.out(HEAD, JOBS)
    assert [line.split()[:3] for line in running.splitlines()] == [["1", "RUNNING", "ann"], ["2", "RUNNING", "ann"]]
    return running


@pytest.fixture(scope="module")
def newer_release(testbed: Testbed) -> None:
    """Make the new release available to apt on all nodes."""
    script = (Path(__file__).parent / "upgrade_suite.sh").read_text()
    for node in testbed.cluster.nodes:
        testbed.out(node, "sh -s", text=script)


def set_release(testbed: Testbed, version: str) -> None:
    """Change the one line of the inventory."""
    (testbed.inventory / "inventory.yml").write_text(INVENTORY.replace('version: "24.11"', f'version: "{version}"'))


def upgrade(testbed: Testbed, *arguments: str) -> tuple[int, str]:
    done = gpupool("upgrade", testbed.inventory, "--on", "testbed", "--yes", *arguments)
    return done.returncode, done.stdout + done.stderr


def releases(testbed: Testbed) -> set[str]:
    """Return the installed releases of Slurm's daemons on all nodes, by their packages."""
    ask = "dpkg-query -W -f='${Version}\\n' slurmctld slurmdbd slurmd 2>/dev/null | cut -d . -f 1,2 | grep ."
    return {line for node in testbed.cluster.nodes for line in testbed.out(node, f"{ask} || :").split()}


def history(testbed: Testbed) -> str:
    return testbed.out(HEAD, ENDED)


@pytest.mark.usefixtures("newer_release")
def test_a_slurmdbd_that_fails_with_its_converted_database_is_rolled_back(testbed: Testbed, jobs: str) -> None:
    before = history(testbed)
    testbed.out(HEAD, f"mkdir -p {FAILING.rpartition('/')[0]}; cat > {FAILING}; systemctl daemon-reload", text=FAIL)
    set_release(testbed, "26.05")
    code, printed = upgrade(testbed)
    assert code == 1, printed
    assert "rolling back slurmdbd and its database" in printed
    assert "ctl has Slurm 24.11.5" in printed
    assert "slurmdbd answers with the database of database-" in printed
    assert (releases(testbed), testbed.out(HEAD, JOBS)) == ({"24.11"}, jobs)
    assert history(testbed) == before
    assert testbed.out(HEAD, "slurmdbd -V") == testbed.out(HEAD, "slurmctld -V")
    assert testbed.out(HEAD, "mariadb -N -e \"show databases like 'slurm_acct_db_aside_%'\"").count("aside") == 1
    set_release(testbed, "24.11")
    assert testbed.plan() == (0, {})
    testbed.out(HEAD, f"rm {FAILING}; systemctl daemon-reload")


def active(testbed: Testbed, node: str, unit: str) -> bool:
    return testbed.run(node, f"systemctl is-active {unit}").stdout.strip() == "active"


def drained(testbed: Testbed, node: str) -> bool:
    return "gpupool: upgrade: " in testbed.run(HEAD, f"scontrol show node {node}").stdout


def is_new(testbed: Testbed, node: str, package: str) -> bool:
    return testbed.run(node, f"dpkg-query -W -f '${{Version}}' {package}").stdout.startswith("26.05")


#: Moments at which the command is killed, in their order.
MOMENTS: dict[str, Callable[[Testbed], bool]] = {
    "slurmdbd has stopped": lambda testbed: not active(testbed, HEAD, "slurmdbd"),
    "slurmdbd is of the new release": lambda testbed: is_new(testbed, HEAD, "slurmdbd"),
    "slurmdbd runs again": lambda testbed: active(testbed, HEAD, "slurmdbd"),
    "its slurmd has stopped": lambda testbed: not active(testbed, "gpu-1", "slurmd"),
    "the second node is drained": lambda testbed: drained(testbed, "gpu-2"),
    "slurmd is of the new release": lambda testbed: is_new(testbed, "gpu-2", "slurmd"),
}


def kill_at(testbed: Testbed, moment: str, is_there: Callable[[Testbed], bool]) -> bool:
    """Start or continue the command, and kill it at the moment; return False if it has ended before."""
    command = [sys.executable, "-m", "gpupool", "upgrade", str(testbed.inventory), "--on", "testbed", "--yes"]
    with (
        TemporaryFile("w+") as printed,
        subprocess.Popen(command, cwd=ROOT, stdout=printed, stderr=subprocess.STDOUT) as run,
    ):
        until(lambda: run.poll() is not None or is_there(testbed), moment)
        ended = run.poll()
        run.kill()
        printed.seek(0)
        assert ended in (None, 0), f"{moment}: {printed.read()}"
    return ended is None


@pytest.mark.usefixtures("newer_release")
def test_jobs_run_through_an_upgrade_that_is_killed_repeatedly(testbed: Testbed, jobs: str) -> None:
    set_release(testbed, "26.05")
    before = history(testbed)
    # a step begun on a node ends there without the run, so a moment may be over before the next run reaches it
    assert sum(kill_at(testbed, moment, is_there) for moment, is_there in MOMENTS.items()) >= 2
    code, printed = upgrade(testbed)
    assert code == 0, printed
    assert releases(testbed) == {"26.05"}
    assert testbed.out(HEAD, JOBS) == jobs
    assert history(testbed) == before
    assert testbed.out(HEAD, "scontrol show node | grep -c Version=26.05") == "2"
    assert "gpupool" not in testbed.out(HEAD, "sinfo -h -R")
    assert testbed.out(HEAD, "su ann -c 'cd; srun -G 1 hostname'") in ("gpu-1", "gpu-2")


def test_a_second_upgrade_does_nothing(testbed: Testbed, jobs: str) -> None:
    code, printed = upgrade(testbed)
    assert code == 0, printed
    assert "nothing to upgrade" in printed
    assert testbed.plan() == (0, {})
    assert testbed.out(HEAD, JOBS) == jobs
