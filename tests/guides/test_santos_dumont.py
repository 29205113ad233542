"""The guide of Santos Dumont, in its order: a user's commands as printed there, and their results.

The software of modules is a stand-in of the test; the modules are the inventory's. The budget of a project is tested in
test_santos_dumont_budget.py, on the same cluster.
"""

import re
from collections.abc import Iterator

import paramiko
import pytest
from logging_in import change_password, connected
from pace import until

from tests.guides.deployed import Deployed
from tests.guides.dumont import (
    COLLEAGUE,
    CONTROLLER,
    GDL,
    K40,
    LOGIN,
    ME,
    PROJECT,
    SCRATCH,
    SERVER,
    STRANGER,
    in_scratch,
    to_the_past,
)
from tests.guides.terminal import Terminal
from tests.testbed.cluster import Testbed, gpupool
from tests.testbed.test_jobs import PROBE

ENDED = r"Relinquishing job allocation \d+[\s\S]*\$ \Z"
BACK = rf"@{LOGIN}:[\s\S]*\$ \Z"


@pytest.fixture
def login(dumont: Testbed) -> Iterator[Terminal]:
    """A log-in: `ssh USERNAME@login.sdumont.lncc.br`, without jobs of earlier tests."""
    dumont.end_jobs()
    with Terminal(dumont, LOGIN, ME) as terminal:
        yield terminal


def submitted(text: str) -> str:
    """Return the number of a job from the output of sbatch."""
    job = re.search(r"Submitted batch job (\d+)", text)
    assert job, text
    return job[1]


# First access


@pytest.mark.promise("SDU-002", "SDU-006", "SDU-007", "SDU-013", "SDU-015")
def test_a_project_has_an_account_a_group_and_folders(dumont: Testbed, login: Terminal) -> None:
    assert f"{PROJECT}|{ME}" in dumont.out(LOGIN, "sacctmgr -nP show assoc format=account,user", ME).split()
    assert dumont.out(CONTROLLER, f"sacctmgr -nP show account {PROJECT} withcoord format=coord") == ME
    assert PROJECT in login.type("id -Gn").split()
    assert f"/prj/{PROJECT}/{ME} {SCRATCH}\n" in login.type("echo ~ $SCRATCH")
    assert dumont.out(LOGIN, f"stat -c '%U %G' {SCRATCH} ~", ME).splitlines() == [f"{ME} {PROJECT}"] * 2
    assert "nvidia_dev" in login.type("sinfo")


@pytest.mark.promise("SDU-004", "SDU-005")
def test_the_first_password_is_changed_at_the_first_login(dumont: Testbed) -> None:
    new = "corr3ct-Horse-9"
    dumont.out(LOGIN, f"usermod -p '!' {STRANGER}")
    done = gpupool("password", dumont.inventory, STRANGER, "--on", "testbed", "--limit", LOGIN)
    assert done.returncode == 0, done.stderr
    first = done.stdout.strip()
    with connected(dumont, LOGIN, STRANGER, first) as client:
        change_password(client, first, new)
    with connected(dumont, LOGIN, STRANGER, new) as client:
        assert client.exec_command("id -un")[1].read().decode().strip() == STRANGER
    with pytest.raises(paramiko.AuthenticationException):
        connected(dumont, LOGIN, STRANGER, first)


# Storage


@pytest.mark.promise("SDU-010", "SDU-011", "SDU-012", "SDU-058")
def test_files_are_copied_to_scratch_and_logs_back(dumont: Testbed, login: Terminal) -> None:
    dumont.out(LOGIN, f"rm -rf ~/* {SCRATCH}/*; mkdir experiments && touch experiments/job.py experiments/old", ME)
    login.type("rsync -rUv --delete experiments/ $SCRATCH/experiments/", r"total size is[\s\S]*\$ \Z")
    dumont.out(LOGIN, "rm experiments/old", ME)
    login.type("rsync -rUv --delete experiments/ $SCRATCH/experiments/", r"total size is[\s\S]*\$ \Z")
    assert in_scratch(dumont, "ls experiments") == "job.py"
    assert in_scratch(dumont, "srun -p nvidia_dev ls experiments") == "job.py"
    for queue in ("nvidia_dev", "sequana_gpu_dev", "gdl"):
        assert in_scratch(dumont, f"srun -p {queue} sh -c 'ls /prj/{PROJECT} || echo none'") == "none"
    in_scratch(dumont, "mkdir -p logs && touch logs/made")
    login.type("rsync -rUv $SCRATCH/logs logs", r"total size is[\s\S]*\$ \Z")
    assert dumont.out(LOGIN, "ls logs/logs", ME) == "made"


@pytest.mark.promise("SDU-009")
def test_old_files_are_purged_from_scratch_and_homes_are_kept(dumont: Testbed) -> None:
    # sixty days are five seconds here: no user can set back when a file was changed
    settings = "/etc/gpupool/usage.json"
    dumont.out(SERVER, f'rm -f /var/lib/gpupool/purge/*; sed -i.kept \'s/"seconds": 5184000/"seconds": 5/\' {settings}')
    try:
        in_scratch(dumont, "mkdir -p aged && touch aged/old && touch ~/precious && sleep 6 && touch aged/new")
        listed = dumont.out(SERVER, "gpupool-purge --dry")
        assert re.search(r"would remove .*/aged/old$", listed, re.M), listed
        for names in (["new", "old"], ["new"]):
            in_scratch(dumont, "touch aged/new")
            dumont.out(SERVER, "systemctl start gpupool-purge")
            assert in_scratch(dumont, "ls aged").split() == names, "the first run only lists"
        assert dumont.out(LOGIN, "ls ~/precious", ME)
        assert in_scratch(dumont, "pwd") == SCRATCH, "a user's directory stays"
    finally:
        dumont.out(SERVER, f"mv {settings}.kept {settings}")


# Queues

QUEUES = (
    ("SDU-016", "nvidia_dev", "00:20:00", 1, K40, "24 gpu:k40:2"),
    ("SDU-017", "nvidia_small", "01:00:00", 1, K40, "24 gpu:k40:2"),
    ("SDU-018", "nvidia_long", "31-00:00:00", 1, K40, "24 gpu:k40:2"),
    ("SDU-019", "nvidia_scal", "18:00:00", 51, K40, "24 gpu:k40:2"),
    ("SDU-020", "nvidia", "2-00:00:00", 21, K40, "24 gpu:k40:2"),
    ("SDU-021", "sequana_gpu", "4-00:00:00", 1, "sdumont8000", "48 gpu:v100:4"),
    ("SDU-022", "sequana_gpu_dev", "00:20:00", 1, "sdumont8000", "48 gpu:v100:4"),
    ("SDU-023", "sequana_gpu_long", "31-00:00:00", 1, "sdumont8000", "48 gpu:v100:4"),
    ("SDU-024", "gdl", "2-00:00:00", 1, GDL, "40 gpu:v100:8"),
)


@pytest.mark.parametrize(
    ("queue", "wall", "nodes", "node", "has"),
    [pytest.param(*row[1:], id=row[1], marks=pytest.mark.promise(row[0])) for row in QUEUES],
)
def test_a_queue_has_its_time_limit_size_and_nodes(
    dumont: Testbed, queue: str, wall: str, nodes: int, node: str, has: str
) -> None:
    shown = dumont.out(LOGIN, f"scontrol -o show partition {queue}", ME)
    assert f" MaxTime={wall} " in shown
    assert f" MaxNodes={nodes} " in shown
    assert dumont.out(LOGIN, f"sinfo -h -p {queue} -n {node} -o '%c %G'", ME) == has
    assert in_scratch(dumont, f"srun -p {queue} -w {node} hostname") == node
    refused = dumont.run(LOGIN, f"cd {SCRATCH} && sbatch -p {queue} -N {nodes + 1} --wrap true", ME)
    assert re.search("Node count specification invalid|More processors requested", refused.stderr), refused.stderr


@pytest.mark.promise("SDU-028")
def test_a_job_must_name_its_queue(dumont: Testbed, login: Terminal) -> None:
    login.type("cd $SCRATCH")
    refused = login.type("sbatch --wrap true")
    assert "Specify a partition with --partition (-p): nvidia_dev, nvidia_small, " in refused
    assert "Submitted" not in refused


# Interactive access


@pytest.mark.promise("SDU-013", "SDU-031", "SDU-032", "SDU-033", "SDU-043")
def test_an_interactive_job_is_entered_by_ssh(dumont: Testbed, login: Terminal) -> None:
    holds = in_scratch(dumont, "sbatch --parsable -p nvidia -N 2 --exclusive -o /dev/null --wrap 'sleep 600'")
    dumont.wait_for(holds, "RUNNING")
    in_scratch(dumont, "cat > experiment.py", "print('it ran')\n")
    login.type("cd $SCRATCH")
    pending = login.type("salloc --nodes=1 -p nvidia_dev -J mine --exclusive", "queued and waiting for resources")
    assert re.search(r"salloc: Pending job allocation (\d+)", pending)
    dumont.out(LOGIN, f"scancel {holds}", ME)
    granted = login.wait_for_salloc()
    assert "has been allocated resources" in granted
    job = re.search(r"Granted job allocation (\d+)", granted)
    assert job
    listed = login.type(f"squeue -j {job[1]}")
    assert re.search(r"JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST\(REASON\)", listed)
    row = re.search(rf"{job[1]} +nvidia_de +mine +{ME} +R +\S+ +1 (sdumont300\d)", listed)
    assert row, listed
    assert f"@{row[1]}:" in login.type(f"ssh {row[1]}")
    assert f"\n{SCRATCH}\n" in login.type("echo $SCRATCH")
    login.type("cd $SCRATCH")
    login.type("module load gcc/7.4 python/3.9.1 cudnn/8.2_cuda-11.1")
    assert "Python 3.9.1" in login.type("python --version")
    assert "7.4.0" in login.type("gcc --version")
    assert "/cudnn/8.2_cuda-11.1/lib64" in login.type("echo $LD_LIBRARY_PATH")
    assert "\nit ran\n" in login.type("python experiment.py")
    login.type("exit", BACK)
    login.type("exit", ENDED)
    until(lambda: not dumont.out(LOGIN, "squeue -h"), "the job has ended")
    until(lambda: dumont.run(LOGIN, f"ssh {row[1]} true", ME).returncode, "no user gets in after the job")


@pytest.mark.promise("SDU-031")
def test_nodes_trust_a_head_about_its_users_and_no_user(dumont: Testbed) -> None:
    """ssh from the head needs no password, as nodes have neither homes nor keys."""
    job = in_scratch(dumont, "sbatch --parsable -p nvidia -N 2 -o /dev/null --wrap 'sleep 600'", user=COLLEAGUE)
    nodes = dumont.wait_for(job, "RUNNING")
    assert nodes["NumNodes"] == "2"
    try:
        ssh = "ssh -o BatchMode=yes"
        assert dumont.out(LOGIN, f"{ssh} {K40} hostname", COLLEAGUE) == K40
        for other in (COLLEAGUE, "root"):
            refused = dumont.run(LOGIN, f"{ssh} {other}@{K40} true", ME)
            assert "Permission denied" in refused.stderr, refused
        # a node cannot vouch for users
        refused = dumont.run(LOGIN, f"{ssh} {K40} {ssh} -o HostbasedAuthentication=yes sdumont3001 true", COLLEAGUE)
        assert "Permission denied" in refused.stderr, refused
    finally:
        dumont.out(LOGIN, f"scancel {job}", COLLEAGUE)


@pytest.mark.promise("SDU-050")
def test_an_exclusive_job_sees_all_gpus_and_a_step_those_requested(dumont: Testbed) -> None:
    in_scratch(dumont, "cat > probe.sh && chmod 755 probe.sh", f"#!/bin/bash\n{PROBE}\n")
    steps = "./probe.sh; echo step; srun -n 1 ./probe.sh; echo asked; srun -n 1 --gres=gpu:1 ./probe.sh"
    job = in_scratch(dumont, f"sbatch --parsable -p gdl --exclusive -o probed --wrap '{steps}'")
    dumont.wait_for(job, "COMPLETED")
    batch, step, asked = re.split(r"step|asked", in_scratch(dumont, "cat probed"))
    for text, opened in ((batch, 8), (step, 0), (asked, 1)):
        assert [line.split()[0] for line in text.split("\n") if line].count("ENXIO") == opened, text


@pytest.mark.promise("SDU-014", "SDU-057")
def test_packages_of_pip_are_kept_in_scratch(dumont: Testbed) -> None:
    """Without downloading a package: a module is written where pip puts a user's own."""
    where = in_scratch(dumont, "srun -p nvidia_dev python3 -m site --user-site")
    assert where.startswith(f"{SCRATCH}/.local/lib/python3")
    in_scratch(dumont, f"srun -p nvidia_dev sh -c 'mkdir -p {where} && echo made=7 > {where}/fixture.py'")
    assert in_scratch(dumont, "srun -p sequana_gpu python3 -c 'import fixture; print(fixture.made)'") == "7"


# Enqueueing experiments

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


@pytest.mark.promise("SDU-013", "SDU-036", "SDU-037", "SDU-038", "SDU-042")
def test_an_experiment_is_queued_from_scratch(dumont: Testbed, login: Terminal) -> None:
    dumont.out(
        LOGIN,
        f"rm -rf ~/* {SCRATCH}/*; mkdir -p runners experiments/cityscapes; cat > runners/cityscapes.sh",
        ME,
        BATCH,
    )
    for name in ("train", "evaluate"):
        dumont.out(
            LOGIN, f"cat > experiments/cityscapes/{name}.py", ME, f"import sys\nprint('{name}', *sys.argv[1:])\n"
        )
    login.type("cd")
    # the guide does not name an output file, and nodes have no homes
    refused = login.type("sbatch runners/cityscapes.sh")
    assert "Compute nodes do not have /prj: submit from another directory, or set one with --chdir." in refused
    assert "Submitted" not in refused
    login.type("rsync -rUv runners experiments $SCRATCH/", r"total size is[\s\S]*\$ \Z")
    login.type("cd $SCRATCH")
    job = submitted(login.type("sbatch runners/cityscapes.sh"))
    node = dumont.wait_for(job, "COMPLETED")["NodeList"]
    rest = "with dataset=cityscapes extra=true"
    assert in_scratch(dumont, f"cat slurm-{job}.out").splitlines() == [node, f"train {rest}", f"evaluate {rest}"]
    assert in_scratch(dumont, "srun -p nvidia_dev nodeset -e 'sdumont[4000-4001]'") == "sdumont4000 sdumont4001"


# The queue gdl

EXPERIMENT = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --ntasks=1
#SBATCH -p gdl
#SBATCH -J GDL-teste-script
#SBATCH --exclusive

#Exibe os nos alocados para o Job
echo $SLURM_JOB_NODELIST
nodeset -e $SLURM_JOB_NODELIST

cd $SLURM_SUBMIT_DIR

#Configura o módulo de Deep Learning
module load deepl/deeplearn-py3.7

#acessa o diretório onde o script está localizado
cd $SCRATCH/teste-gdl

#executa o script
python experiment.py
"""


@pytest.mark.promise("SDU-040", "SDU-041")
def test_the_queue_for_deep_models(dumont: Testbed, login: Terminal) -> None:
    for name in ("script", "experiment"):
        in_scratch(dumont, f"mkdir -p teste-gdl; cat > teste-gdl/{name}.py", "print('very deep')\n")
    login.type("cd $SCRATCH")
    login.type("salloc --nodes=1 -p gdl -J GDL-teste --exclusive", "Granted job allocation")
    granted = login.wait_for_salloc()
    job = re.findall(r"Granted job allocation (\d+)", granted)[0]
    assert re.search(rf"{job} +gdl +GDL-test +{ME} +R +\S+ +1 {GDL}", login.type(f"squeue -j {job}"))
    login.type(f"ssh {GDL}")
    login.type(f"cd {SCRATCH}/teste-gdl")
    login.type("module load deepl/deeplearn-py3.7")
    assert "Python 3.7" in login.type("python --version")
    assert "\nvery deep\n" in login.type("python script.py")
    login.type("exit", BACK)
    login.type("exit", ENDED)
    in_scratch(dumont, "cat > experiment.srm", EXPERIMENT)
    job = submitted(login.type("sbatch experiment.srm"))
    dumont.wait_for(job, "COMPLETED")
    assert in_scratch(dumont, f"cat slurm-{job}.out").splitlines() == [GDL, GDL, "very deep"]


# Reports


@pytest.mark.promise("SDU-044", "SDU-046", "SDU-047", "SDU-048", "SDU-060", "SDU-061")
def test_reports_of_a_project(dumont: Testbed, login: Terminal) -> None:
    late = in_scratch(dumont, "sbatch --parsable -p nvidia_dev -t 1 --exclusive -o /dev/null --wrap 'sleep 600'")
    good = in_scratch(dumont, "sbatch --parsable -p nvidia_long -o /dev/null --wrap true")
    bad = in_scratch(dumont, "sbatch --parsable -p nvidia_long -o /dev/null --wrap 'sleep 3; false'", user=COLLEAGUE)
    stopped = in_scratch(dumont, "sbatch --parsable -p nvidia_long -o /dev/null --wrap 'sleep 600'")
    dumont.wait_for(stopped, "RUNNING")
    dumont.out(LOGIN, f"scancel {stopped}", ME)
    for job, state in ((good, "COMPLETED"), (bad, "FAILED"), (stopped, "CANCELLED"), (late, "TIMEOUT")):
        dumont.wait_for(job, state)
    for line in (f"PROJECT={PROJECT}", "START=2021-06-01", "END=now"):
        login.type(line)
    command = "sacct -S $START -E $END -X -A $PROJECT"
    until(lambda: "TIMEOUT" in login.type(command), "slurmdbd knows of the end")
    listed = login.type(command)
    assert re.search(r"JobID +JobName +Partition +Account +AllocCPUS +State +ExitCode", listed)
    assert not re.search(rf"^{bad} ", listed, re.M), "as printed it lists one's own jobs; all of the project's are -a"
    listed = login.type(f"{command} -a")
    for job, queue, cpus, state in (
        (good, r"nvidia_lo\+", 1, r"COMPLETED +0:0"),
        (bad, r"nvidia_lo\+", 1, r"FAILED +1:0"),
        (stopped, r"nvidia_lo\+", 1, r"CANCELLED\+ +0:0"),
        (late, "nvidia_dev", 24, r"TIMEOUT +0:0"),
    ):
        assert re.search(rf"{job} +wrap +{queue} +{PROJECT} +{cpus} +{state}", listed), listed
    to_the_past(dumont)
    report = login.type("sreport -t hours cluster AccountUtilizationByUser start=$START end=$END Accounts=$PROJECT")
    assert re.search(r"Cluster +Account +Login +Proper Name +Used +Energy", report)
    rows = re.findall(rf"sdumont +{PROJECT}( +usuario\d +User \w+)? +\d+ +0\s", report)
    assert [row.split() for row in rows] == [[], [ME, "User", "One"], [COLLEAGUE, "User", "Two"]], report


# The cluster itself


class TestDeployedCluster(Deployed):
    @pytest.fixture
    def testbed(self, dumont: Testbed) -> Testbed:
        return dumont
