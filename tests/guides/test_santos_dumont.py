"""The guide of Santos Dumont, in its order: what a user types, as it is printed there, and what comes of it.

What modules bring is a stand-in of the test; the modules are the inventory's.
"""

import re
from collections.abc import Iterator

import pytest
from inventories import INVENTORY
from pace import until

from tests.guides.terminal import Terminal
from tests.testbed.cluster import Testbed, gpupool, up

LOGIN, CONTROLLER = "login", "sdumont-ctl"
K40, GDL = "sdumont3000", "sdumont4000"
ME, COLLEAGUE, STRANGER, PROJECT = "usuario1", "usuario2", "usuario3", "projeto"
SCRATCH = f"/scratch/{PROJECT}/{ME}"
NETWORK = "10.178.0.0/16"
#: Programs that say a version, and else are the node's own: file below /opt/sdumont, version, what they run.
PROGRAMS = (
    ("gcc/7.4/bin/gcc", "gcc (GCC) 7.4.0", "false"),
    ("python/3.9.1/bin/python", "Python 3.9.1", "python3"),
    ("python/3.9.1/bin/python3.9", "Python 3.9.1", "python3"),
    ("python/3.9.1/bin/pip", "pip 21.0", "python3 -m pip"),
    ("deepl/deeplearn-py3.7/bin/python", "Python 3.7.12", "python3"),
)
GRANTED, ENDED = r"Granted job allocation \d+[\s\S]*\$ \Z", r"Relinquishing job allocation \d+[\s\S]*\$ \Z"


@pytest.fixture(scope="module")
def dumont() -> Iterator[Testbed]:
    """The cluster, with what the modules of the guide stand for on two of its nodes."""
    inventory = INVENTORY / "santos-dumont"
    testbed = up(inventory, NETWORK)
    for node in (K40, GDL):
        for path, version, runs in PROGRAMS:
            file = f"/opt/sdumont/{path}"
            text = f'#!/bin/sh\n[ "$1" != --version ] || {{ echo "{version}"; exit; }}\nexec {runs} "$@"\n'
            testbed.out(node, f"mkdir -p {file.rpartition('/')[0]} && cat > {file} && chmod 755 {file}", text=text)
        testbed.out(node, "mkdir -p /opt/sdumont/cudnn/8.2_cuda-11.1/lib64")
    yield testbed
    gpupool("testbed", "down", inventory)


@pytest.fixture
def login(dumont: Testbed) -> Iterator[Terminal]:
    """A log-in: `ssh USERNAME@login.sdumont.lncc.br`. No job of before is left."""
    until(lambda: not dumont.out(LOGIN, "squeue -h -o %A | tee /dev/stderr | xargs -r scancel"), "all jobs have ended")
    with Terminal(dumont, LOGIN, ME) as terminal:
        yield terminal


def mine(dumont: Testbed, command: str, text: str = "", user: str = ME) -> str:
    """Return what a command prints in the user's scratch."""
    return dumont.out(LOGIN, f"cd /scratch/*/{user} && {command}", user, text)


# Access and storage


@pytest.mark.promise("SDU-002", "SDU-015")
def test_a_project_has_an_account_a_group_and_folders(dumont: Testbed) -> None:
    assert f"{PROJECT}|{ME}" in dumont.out(LOGIN, "sacctmgr -nP show assoc format=account,user", ME).split()
    assert PROJECT in dumont.out(LOGIN, "id -Gn", ME).split()
    assert dumont.out(LOGIN, "echo ~ $SCRATCH", ME) == f"/prj/{PROJECT}/{ME} {SCRATCH}"
    assert dumont.out(LOGIN, f"stat -c %U {SCRATCH} ~", ME).split() == [ME, ME]
    assert "nvidia_dev" in dumont.out(LOGIN, "sinfo", ME)


@pytest.mark.promise("SDU-010", "SDU-011", "SDU-012", "SDU-058")
def test_files_go_to_scratch_and_logs_come_back(dumont: Testbed, login: Terminal) -> None:
    dumont.out(LOGIN, f"rm -rf ~/* {SCRATCH}/*; mkdir experiments && touch experiments/job.py experiments/old", ME)
    login.type("rsync -rUv --delete experiments/ $SCRATCH/experiments/", r"total size is[\s\S]*\$ \Z")
    dumont.out(LOGIN, "rm experiments/old", ME)
    login.type("rsync -rUv --delete experiments/ $SCRATCH/experiments/", r"total size is[\s\S]*\$ \Z")
    assert mine(dumont, "ls experiments") == "job.py"
    assert mine(dumont, f"srun -p nvidia_dev -w {K40} ls experiments") == "job.py"
    assert mine(dumont, f"srun -p nvidia_dev -w {K40} sh -c 'ls /prj/{PROJECT} || echo none'") == "none"
    mine(dumont, "mkdir -p logs && touch logs/made")
    login.type("rsync -rUv $SCRATCH/logs logs", r"total size is[\s\S]*\$ \Z")
    assert dumont.out(LOGIN, "ls logs/logs", ME) == "made"


# Queues

QUEUES = (
    ("SDU-016", "nvidia_dev", "00:20:00", 1, K40),
    ("SDU-017", "nvidia_small", "01:00:00", 1, K40),
    ("SDU-018", "nvidia_long", "31-00:00:00", 1, K40),
    ("SDU-019", "nvidia_scal", "18:00:00", 51, K40),
    ("SDU-020", "nvidia", "2-00:00:00", 21, K40),
    ("SDU-021", "sequana_gpu", "4-00:00:00", 1, "sdumont8000"),
    ("SDU-022", "sequana_gpu_dev", "00:20:00", 1, "sdumont8000"),
    ("SDU-023", "sequana_gpu_long", "31-00:00:00", 1, "sdumont8000"),
    ("SDU-024", "gdl", "2-00:00:00", 1, GDL),
)


@pytest.mark.parametrize(
    ("queue", "wall", "nodes", "node"),
    [pytest.param(*row[1:], id=row[1], marks=pytest.mark.promise(row[0])) for row in QUEUES],
)
def test_a_queue_has_its_wall_size_and_price(dumont: Testbed, queue: str, wall: str, nodes: int, node: str) -> None:
    shown = dumont.out(LOGIN, f"scontrol -o show partition {queue}", ME)
    assert f" MaxTime={wall} " in shown
    assert f" MaxNodes={nodes} " in shown
    assert f" TRESBillingWeights=cpu={2.0 if queue == 'gdl' else 1.5}" in shown
    assert mine(dumont, f"srun -p {queue} -w {node} hostname") == node


@pytest.mark.promise("SDU-026", "SDU-039")
@pytest.mark.parametrize(
    ("queue", "cpus", "gpus", "price"), [("nvidia_dev", 24, 2, 1.5), ("sequana_gpu", 48, 4, 1.5), ("gdl", 40, 8, 2.0)]
)
def test_an_exclusive_job_has_and_pays_the_whole_node(
    dumont: Testbed, queue: str, cpus: int, gpus: int, price: float
) -> None:
    job = mine(dumont, f"sbatch --parsable -p {queue} --exclusive -o /dev/null --wrap 'true'")
    tres = dumont.wait_for(job, "COMPLETED")["AllocTRES"]
    for part in (f"cpu={cpus}", f"billing={int(cpus * price)}", f"gres/gpu={gpus}"):
        assert part in tres.split(","), tres


# Jobs


@pytest.mark.promise("SDU-028")
def test_a_job_must_name_its_queue(dumont: Testbed) -> None:
    refused = dumont.run(LOGIN, f"cd {SCRATCH} && sbatch --wrap true", ME)
    assert refused.returncode
    assert "-p" in refused.stderr, refused.stderr


@pytest.mark.promise("SDU-031", "SDU-032", "SDU-033", "SDU-043")
def test_an_interactive_job_is_entered_by_ssh(dumont: Testbed, login: Terminal) -> None:
    holds = mine(dumont, f"sbatch --parsable -p nvidia -w {K40} --exclusive -o /dev/null --wrap 'sleep 600'")
    dumont.wait_for(holds, "RUNNING")
    login.type("cd $SCRATCH")
    said = login.type(f"salloc --nodes=1 -p nvidia_dev -w {K40} -J mine --exclusive", "queued and waiting")
    assert re.search(r"salloc: Pending job allocation (\d+)", said)
    dumont.out(LOGIN, f"scancel {holds}", ME)
    said = login.wait_for(GRANTED)
    assert "has been allocated resources" in said
    job = re.search(r"Granted job allocation (\d+)", said)
    assert job
    assert re.search(rf"{job[1]} +nvidia_de +mine +{ME} +R .* {K40}", login.type(f"squeue -j {job[1]}"))
    assert f"@{K40}:" in login.type(f"ssh {K40}")
    login.type("module load gcc/7.4 python/3.9.1 cudnn/8.2_cuda-11.1")
    assert "Python 3.9.1" in login.type("python --version")
    assert "7.4.0" in login.type("gcc --version")
    assert "/cudnn/8.2_cuda-11.1/lib64" in login.type("echo $LD_LIBRARY_PATH")
    login.type("exit", rf"@{LOGIN}:[\s\S]*\$ \Z")
    login.type("exit", ENDED)
    until(lambda: dumont.run(LOGIN, f"ssh {K40} true", ME).returncode, "nobody gets in after the job")


@pytest.mark.promise("SDU-014", "SDU-057")
def test_packages_of_pip_stay_in_scratch(dumont: Testbed) -> None:
    """Without a package of the world: a module laid where pip puts a user's own."""
    where = mine(dumont, f"srun -p nvidia_dev -w {K40} python3 -m site --user-site")
    assert where.startswith(f"{SCRATCH}/.local/lib/python3")
    mine(dumont, f"srun -p nvidia_dev -w {K40} sh -c 'mkdir -p {where} && echo made=7 > {where}/fixture.py'")
    assert mine(dumont, "srun -p sequana_gpu python3 -c 'import fixture; print(fixture.made)'") == "7"


BATCH = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --ntasks=1
#SBATCH -p nvidia_long
#SBATCH -J ml_train_multi_gpu
#SBATCH --exclusive
nodeset -e $SLURM_JOB_NODELIST
module load gcc/7.4 python/3.9.1 cudnn/8.2_cuda-11.1
cd ./experiments/
python3.9 cityscapes/train.py with dataset=cityscapes extra=true
python3.9 cityscapes/evaluate.py with dataset=cityscapes extra=true
"""


@pytest.mark.promise("SDU-036", "SDU-037", "SDU-038")
def test_an_experiment_is_queued(dumont: Testbed, login: Terminal) -> None:
    mine(dumont, "rm -rf *; mkdir -p runners experiments/cityscapes; cat > runners/cityscapes.sh", BATCH)
    for name in ("train", "evaluate"):
        mine(dumont, f"cat > experiments/cityscapes/{name}.py", f"import sys\nprint('{name}', *sys.argv[1:])\n")
    login.type("cd $SCRATCH")
    # the modules are there on one of the two nodes
    job = re.search(r"Submitted batch job (\d+)", login.type(f"sbatch -w {K40} runners/cityscapes.sh"))
    assert job
    dumont.wait_for(job[1], "COMPLETED")
    printed = mine(dumont, f"cat slurm-{job[1]}.out").splitlines()
    rest = "with dataset=cityscapes extra=true"
    assert printed == [K40, f"train {rest}", f"evaluate {rest}"]


@pytest.mark.promise("SDU-040", "SDU-041")
def test_the_queue_for_deep_models(dumont: Testbed, login: Terminal) -> None:
    mine(dumont, "mkdir -p teste-gdl; cat > teste-gdl/script.py", "print('very deep')\n")
    login.type("cd $SCRATCH")
    login.type("salloc --nodes=1 -p gdl -J GDL-teste --exclusive", GRANTED)
    login.type(f"ssh {GDL}")
    login.type(f"cd {SCRATCH}/teste-gdl")
    login.type("module load deepl/deeplearn-py3.7")
    assert "Python 3.7" in login.type("python --version")
    assert "\nvery deep\n" in login.type("python script.py")
    login.type("exit", rf"@{LOGIN}:[\s\S]*\$ \Z")
    login.type("exit", ENDED)

    script = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --ntasks=1
#SBATCH -p gdl
#SBATCH -J GDL-teste-script
#SBATCH --exclusive
echo $SLURM_JOB_NODELIST
nodeset -e $SLURM_JOB_NODELIST
cd $SLURM_SUBMIT_DIR
module load deepl/deeplearn-py3.7
cd $SCRATCH/teste-gdl
python script.py
"""
    mine(dumont, "cat > experiment.srm", script)
    job = re.search(r"Submitted batch job (\d+)", login.type("sbatch experiment.srm"))
    assert job
    dumont.wait_for(job[1], "COMPLETED")
    assert mine(dumont, f"cat slurm-{job[1]}.out").splitlines() == [GDL, GDL, "very deep"]


# Reports


@pytest.mark.promise("SDU-044", "SDU-046", "SDU-048")
def test_reports_of_a_project(dumont: Testbed, login: Terminal) -> None:
    good = mine(dumont, "sbatch --parsable -p nvidia_long -o /dev/null --wrap true")
    bad = mine(dumont, "sbatch --parsable -p nvidia_long -o /dev/null --wrap false", user=COLLEAGUE)
    gone = mine(dumont, "sbatch --parsable -p nvidia_long -o /dev/null --wrap 'sleep 600'")
    dumont.wait_for(gone, "RUNNING")
    dumont.out(LOGIN, f"scancel {gone}", ME)
    for job, state in ((good, "COMPLETED"), (bad, "FAILED"), (gone, "CANCELLED")):
        dumont.wait_for(job, state)
    line = f"sacct -S 2021-06-01 -E now -X -A {PROJECT}"
    until(lambda: "CANCELLED" in dumont.out(LOGIN, line, ME), "slurmdbd knows of the end")
    listed = login.type(line)
    assert re.search(r"JobID +JobName +Partition +Account +AllocCPUS +State +ExitCode", listed)
    for job, state in ((good, r"COMPLETED +0:0"), (bad, r"FAILED +1:0"), (gone, r"CANCELLED\+ +0:0")):
        assert re.search(rf"{job} +wrap +nvidia_lo\+ +{PROJECT} +1 +{state}", listed), listed
    report = f"sreport -t hours cluster AccountUtilizationByUser start=2021-06-01 end=now Accounts={PROJECT}"
    assert re.search(r"Cluster +Account +Login +Proper Name +Used +Energy", login.type(report))
