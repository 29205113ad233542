"""SkyNet on SchedMD's packages: deployed, used, never replaced by the distribution's, and raised by a revision."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import until

from gpupool.distributions.slurm import schedmd
from tests.testbed.cluster import ROOT, SKYNET, Testbed, gpupool, up

NETWORK = "10.195.0.0/16"
MADE = Path("gpupool") / "testbed" / "recipe_schedmd.sh"
SLURM = '  version: "24.11"\n'
PACKAGES = "dpkg-query -W -f='${Package} ${Version}\\n' 'slurm*' 'libslurm*' 'libpam-slurm*' sackd | grep ' .'"
PROCESSES = "systemctl show -P MainPID slurmctld slurmdbd slurmd"


@pytest.fixture(scope="module")
def skynet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """SkyNet with SchedMD's packages: a head node, the controller, a compute node with 8 GPUs and the homes."""
    inventory = shutil.copytree(SKYNET, tmp_path_factory.mktemp("schedmd") / "skynet")
    change(inventory, "cluster.yml", "name: skynet", "name: upstream")
    change(
        inventory,
        "testbed.yml",
        "sky1,sky2,marvin,vicki,clippy,a40-01,rtx2080ti-01,titanx-01,multivac,optimus",
        "sky1,marvin,a40-01,multivac",
    )
    change(inventory, "partitions.yml", SLURM, f"{SLURM}  packages: schedmd\n  repository: site\n")
    try:
        yield up(inventory, NETWORK)
    finally:
        gpupool("testbed", "down", inventory)


def change(inventory: Path, file: str, old: str, new: str) -> None:
    text = (inventory / file).read_text()
    assert old in text
    (inventory / file).write_text(text.replace(old, new, 1))


def packages(testbed: Testbed) -> dict[str, dict[str, str]]:
    """Return the packages of Slurm on each node, with their versions."""
    return {
        node: dict(line.split() for line in testbed.out(node, f"{PACKAGES} || :").splitlines())
        for node in testbed.cluster.nodes
    }


def test_skynet_is_deployed_from_schedmds_packages_and_a_second_apply_changes_nothing(skynet: Testbed) -> None:
    own = packages(skynet)
    assert {name for names in own.values() for name in names} <= set(schedmd().every)
    assert {"slurm-smd-slurmctld", "slurm-smd-slurmdbd", "slurm-smd-client", "slurm-smd"} <= own["marvin"].keys()
    assert {"slurm-smd-slurmd", "slurm-smd"} <= own["a40-01"].keys()
    assert {"slurm-smd-sackd"} <= own["sky1"].keys()
    again = skynet.apply()
    assert (again.returncode, "nothing to change" in again.stdout) == (0, True), again.stdout + again.stderr
    assert packages(skynet) == own
    done = gpupool("verify", skynet.inventory, "--on", "testbed")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_owners_job_preempts_a_borrowers(skynet: Testbed) -> None:
    assert skynet.out("sky1", "srun -p kira-lab --gres=gpu:1 hostname", "u-kira1").startswith("a40-01")
    gpus = skynet.cluster.total_gpus
    array = skynet.submit("u-hays1", f"--requeue -p overcap -A overcap --gres=gpu:1 --array=1-{gpus}")
    running = f"squeue -h -r -j {array} -t R | wc -l"
    until(lambda: skynet.out("marvin", running) == str(gpus), "jobs of borrowers fill the pool")
    skynet.wait_for(skynet.submit("u-kira1", "-p kira-lab --gres=gpu:1"), "RUNNING")
    assert skynet.out("marvin", running) == str(gpus - 1)
    skynet.end_jobs()


def test_a_node_keeps_schedmds_packages_if_the_inventory_asks_for_the_distributions(skynet: Testbed) -> None:
    before = packages(skynet)
    processes = skynet.out("marvin", PROCESSES)
    change(skynet.inventory, "partitions.yml", "  packages: schedmd\n  repository: site\n", "")
    try:
        done = skynet.apply()
    finally:
        change(skynet.inventory, "partitions.yml", SLURM, f"{SLURM}  packages: schedmd\n  repository: site\n")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "slurm.packages: schedmd, or managed: false at the node" in done.stdout + done.stderr
    assert packages(skynet) == before
    assert skynet.out("marvin", PROCESSES) == processes
    assert skynet.plan() == (0, {})


def test_a_job_runs_through_a_higher_revision_of_the_packages(skynet: Testbed) -> None:
    job = skynet.submit("u-kira1", "-p kira-lab --gres=gpu:1")
    start = skynet.wait_for(job, "RUNNING")["StartTime"]
    script = f"folder=/usr/local/share/slurm-smd revision=2 conflicts='{' '.join(schedmd().conflicts)}'\n"
    script += (ROOT / MADE).read_text()
    for node in ("marvin", "a40-01", "sky1"):
        skynet.out(node, "sh -s", text=script)
        names = " ".join(packages(skynet)[node])
        command = f"GPUPOOL_APT=1 apt-get install -y -q --allow-change-held-packages --only-upgrade {names}"
        skynet.out(node, f"DEBIAN_FRONTEND=noninteractive {command}")
    versions = {version for names in packages(skynet).values() for version in names.values()}
    assert versions == {"24.11.5-2"}
    until(lambda: skynet.run("marvin", "sinfo -h -n a40-01 -o %T | grep -qx mixed").returncode == 0, "slurmd answers")
    after = skynet.job(job)
    assert (after["JobState"], after["StartTime"], after["Restarts"]) == ("RUNNING", start, "0")
    assert skynet.plan() == (0, {})
    skynet.end_jobs()
