"""The user guide of Arandu, in its order: a user's commands as printed there, and their results.

A name in square brackets of the guide is replaced by a name of the test. If the guide's own line does not work, it is
typed as printed and shown to fail, and then in the form that works.
"""

import re
from collections.abc import Iterator

import paramiko
import pytest
from inventories import INVENTORY
from pace import until

from tests.guides.deployed import DeployedWithRepair
from tests.guides.terminal import Terminal
from tests.testbed.cluster import Testbed, gpupool, up
from tests.testbed.containers import JUPYTER, make_image

MASTER, DGX = "c4aiscm1", "dgx01"
WORKSTATIONS = ("c4aiscw1", "c4aiscw2")
ME, COLLEAGUE = "u-c4ai1", "u-c4ai2"
NETWORK = "10.176.0.0/16"
PYTORCH = "nvcr.io/nvidia/pytorch:22.11-py3"
FOR_ME = '--user "$(id -u):$(id -g)"'
OWN_GPUS = r"--gpus \"device=$CUDA_VISIBLE_DEVICES\""
PROJECT = "myproject"


@pytest.fixture(scope="module")
def arandu() -> Iterator[Testbed]:
    """The cluster, with a stand-in for NVIDIA's image on its workers."""
    inventory = INVENTORY / "arandu"
    testbed = up(inventory, NETWORK)
    for node in (DGX, *WORKSTATIONS):
        make_image(testbed, node, PYTORCH, command="bash", python=True, programs={"jupyter": JUPYTER})
    yield testbed
    gpupool("testbed", "down", inventory)


class TestDeployedCluster(DeployedWithRepair):
    @pytest.fixture
    def testbed(self, arandu: Testbed) -> Testbed:
        return arandu


@pytest.fixture
def master(arandu: Testbed) -> Iterator[Terminal]:
    """A log-in on the master: `ssh myuser@c4aiscm1`, without jobs or containers of earlier tests (they keep ports)."""
    arandu.end_jobs()
    for node in (DGX, *WORKSTATIONS):
        arandu.out(node, "docker ps -aq | xargs -r docker rm -f")
    with Terminal(arandu, MASTER, ME) as terminal:
        yield terminal


def running(arandu: Testbed) -> str:
    return arandu.out(MASTER, "squeue -h -o %A")


# Access


@pytest.mark.promise("ARA-004", "ARA-007")
def test_users_log_in_on_the_master_which_is_the_controller_and_no_worker(arandu: Testbed, master: Terminal) -> None:
    assert MASTER in master.type("hostname")
    assert arandu.out(MASTER, "systemctl is-active slurmctld") == "active"
    assert MASTER not in arandu.out(MASTER, "sinfo -h -N -o %N").split()


def logged_in(arandu: Testbed, password: str) -> paramiko.SSHClient:
    """Return a log-in of the colleague on the master, by this password and without a key."""
    client = paramiko.SSHClient()
    client.load_host_keys(str(arandu.target.ssh["ssh_known_hosts_file"]))
    address = str(arandu.cluster.nodes[MASTER].address)
    client.connect(address, username=COLLEAGUE, password=password, look_for_keys=False, allow_agent=False)
    return client


@pytest.mark.promise("ARA-005")
def test_the_login_asks_for_a_password(arandu: Testbed) -> None:
    arandu.out(MASTER, "chpasswd", text=f"{COLLEAGUE}:right-Horse-9\n")
    with pytest.raises(paramiko.AuthenticationException):
        logged_in(arandu, "wrong-Horse-9")
    with logged_in(arandu, "right-Horse-9") as client:
        assert client.exec_command("hostname")[1].read().decode().strip() == MASTER
    arandu.out(MASTER, f"usermod -p '!' {COLLEAGUE}")


# File systems


@pytest.mark.promise("ARA-011", "ARA-046")
def test_the_home_is_on_all_nodes_and_the_output_folder_on_each_worker_only(arandu: Testbed) -> None:
    arandu.out(MASTER, "echo mine > ~/here", ME)
    for node in (DGX, *WORKSTATIONS):
        output = arandu.out(MASTER, f"srun -p {_partition(node)} -w {node} sh -c 'pwd; cat ~/here; ls /output'", ME)
        assert output.split()[:2] == [f"/home/{ME}", "mine"]
        assert arandu.out(node, f"stat -c '%U %a' /output/{ME}") == f"{ME} 700"
        arandu.out(MASTER, f"srun -p {_partition(node)} -w {node} touch /output/{ME}/of_{node}", ME)
    assert arandu.out(DGX, f"ls /output/{ME}") == f"of_{DGX}"
    assert arandu.run(MASTER, f"ls /output/{ME}").returncode
    for node in (DGX, *WORKSTATIONS):
        arandu.out(node, f"rm /output/{ME}/of_{node}")


def _partition(node: str) -> str:
    return "arandu" if node == DGX else "devwork"


# Slurm


@pytest.mark.promise("ARA-015", "ARA-019")
def test_an_interactive_job_is_a_shell_on_a_worker(arandu: Testbed, master: Terminal) -> None:
    assert set(arandu.out(MASTER, "sinfo -h -o %R").split()) == {"arandu", "devwork"}
    assert re.search(rf"{ME}@c4aiscw\d:~\$ \Z", master.type("srun --pty -u bash -i"))
    assert re.search(r"^c4aiscw\d$", master.type("hostname"), re.MULTILINE)
    assert f"@{MASTER}:" in master.press_ctrl_d()
    until(lambda: not running(arandu), "the job ends with its shell")


@pytest.mark.promise("ARA-014", "ARA-015")
def test_a_job_waits_in_the_queue_until_gpus_are_free(arandu: Testbed, master: Terminal) -> None:
    holds = arandu.submit(COLLEAGUE, "-p arandu --gres=gpu:8")
    arandu.wait_for(holds, "RUNNING")
    output = master.type("srun -p arandu --gres=gpu:1 --pty -u bash -i", "queued and waiting for resources")
    assert re.search(r"srun: job \d+ queued and waiting for resources", output)
    arandu.out(MASTER, f"scancel {holds}")
    output = master.wait_for(rf"@{DGX}:~\$ \Z")
    assert re.search(r"srun: job \d+ has been allocated resources", output)
    master.type("exit")


@pytest.mark.promise("ARA-016")
def test_a_gpu_is_requested_by_gres(master: Terminal) -> None:
    assert "@c4aiscw" in master.type("srun --gres=gpu:1 --pty -u bash -i")
    assert "\n0\n" in master.type("echo $CUDA_VISIBLE_DEVICES")
    master.type("exit")


@pytest.mark.promise("ARA-017")
def test_a_job_without_a_partition_is_sent_where_it_fits(arandu: Testbed, master: Terminal) -> None:
    # until the prompt: srun would read earlier input
    assert re.search(r"(?m)^c4aiscw\d$", master.type("srun --gres=gpu:1 hostname"))
    assert re.search(rf"(?m)^{DGX}$", master.type("srun --gres=gpu:8 hostname"))


@pytest.mark.promise("ARA-018")
def test_the_partition_arandu_is_the_dgx(master: Terminal) -> None:
    assert f"@{DGX}:" in master.type("srun -p arandu --pty -u bash -i")
    master.type("exit")


MYJOB = f"""#!/bin/bash -l
#SBATCH --output=slurm_out_%j.txt
#SBATCH -n 8 # Cores
#SBATCH -N 1 # Number of nodes
#SBATCH --gres=gpu:1
#SBATCH -p arandu
echo "Running on"
hostname
cp -R /home/{ME}/{PROJECT} /output/{ME}/
docker run {FOR_ME} --rm -v /output/{ME}/{PROJECT}:/workspace/data {{image}} python3 code/main.py
rm -r /output/{ME}/{PROJECT}
echo "Done"
"""
AS_PRINTED, CORRECTED = f"{PYTORCH} -w /workspace/data", f"-w /workspace/data {PYTORCH}"


def printed(arandu: Testbed, job: str, folder: str = "~") -> str:
    """Return the output file of an ended job."""
    arandu.wait_for(job, "COMPLETED")
    return until(
        lambda: text if "Done" in (text := arandu.run(MASTER, f"cat {folder}/slurm_out_{job}.txt", ME).stdout) else "",
        "the job's output is there",
    )


@pytest.mark.promise("ARA-012", "ARA-020", "ARA-021", "ARA-022", "ARA-034", "ARA-042")
def test_a_batch_job_copies_its_files_to_the_worker(arandu: Testbed, master: Terminal) -> None:
    project = f"rm -rf {PROJECT} slurm_out_*; mkdir -p {PROJECT}/code && cat > {PROJECT}/code/main.py"
    arandu.out(MASTER, project, ME, "import os\nprint('program in', os.getcwd())\n")
    for options, says in ((AS_PRINTED, '"-w": executable file not found'), (CORRECTED, "program in /workspace/data")):
        arandu.out(MASTER, "cat > myjob", ME, MYJOB.format(image=options))
        job = re.search(r"Submitted batch job (\d+)", master.type("sbatch myjob"))
        assert job
        lines = printed(arandu, job[1])
        assert lines.splitlines()[:2] == ["Running on", DGX]
        assert says in lines
        assert "Done" in lines
        assert "NumCPUs=8 " in arandu.out(MASTER, f"scontrol -o show job {job[1]}")
        assert PROJECT not in arandu.out(DGX, f"ls /output/{ME}").split()


# Docker


@pytest.fixture
def dgx(master: Terminal) -> Terminal:
    """A job with a GPU on the DGX, in the terminal."""
    assert f"@{DGX}:" in master.type("srun -p arandu --gres=gpu:1 --pty -u bash -i")
    return master


@pytest.mark.promise("ARA-024", "ARA-025", "ARA-027")
def test_a_container_opens_in_the_workspace_without_gpus(arandu: Testbed, dgx: Terminal) -> None:
    dgx.type(f"docker run -it --rm {PYTORCH}", r"# \Z")
    assert "\n/workspace\n" in dgx.type("pwd", r"# \Z")
    assert "nvidia" not in dgx.type("ls /dev", r"[#$] \Z").partition("ls /dev")[2]
    dgx.press_ctrl_d(rf"@{DGX}:~\$ \Z")
    assert arandu.out(DGX, "docker ps -aq") == ""


@pytest.mark.promise("ARA-028", "ARA-029", "ARA-041")
def test_the_gpus_of_a_container_are_those_of_the_job(arandu: Testbed, master: Terminal) -> None:
    """A colleague has the first GPU: with a count docker gives that one, with the numbers of the job it does not."""
    arandu.wait_for(arandu.submit(COLLEAGUE, "-p arandu --gres=gpu:1"), "RUNNING")
    master.type("srun -p arandu --gres=gpu:1 --pty -u bash -i")
    line = f"docker run {FOR_ME} -it --rm {OWN_GPUS} {PYTORCH}"
    master.type(line, r"[#$] \Z")
    assert _gpus(master.type("ls /dev", r"[#$] \Z")) == {"1"}
    master.press_ctrl_d(rf"@{DGX}:~\$ \Z")
    shown = arandu.out(MASTER, f"squeue -h -u {ME} -o %A | xargs scontrol -d show job")
    assert "(IDX:1)" in shown
    output = master.type(f"docker run --rm --gpus 1 {PYTORCH} ls /dev", rf"@{DGX}:~\$ \Z")
    assert _gpus(output) == {"0"}, "the guide warns of this"


def _gpus(listed: str) -> set[str]:
    return set(re.findall(r"nvidia(\d+)", listed))


@pytest.mark.promise("ARA-030", "ARA-034", "ARA-045")
def test_files_of_a_container_have_the_owner_of_its_user_option(arandu: Testbed, dgx: Terminal) -> None:
    dgx.type(f"mkdir -p /output/{ME}/{PROJECT}")
    volume = f"-v /output/{ME}/{PROJECT}:/workspace/data"
    dgx.type(f"docker run --rm {volume} {PYTORCH} touch data/of_root", rf"@{DGX}:~\$ \Z")
    dgx.type(f"docker run {FOR_ME} --rm {volume} {PYTORCH} touch data/of_user", rf"@{DGX}:~\$ \Z")
    owners = arandu.out(DGX, f"stat -c '%n %U' /output/{ME}/{PROJECT}/*; rm -r /output/{ME}/{PROJECT}")
    assert [line.rpartition("/")[2] for line in owners.splitlines()] == ["of_root root", f"of_user {ME}"]


@pytest.mark.promise("ARA-031", "ARA-032", "ARA-033")
def test_an_image_is_built_and_shared(arandu: Testbed, dgx: Terminal) -> None:
    prompt = rf"@{DGX}:~/hello\$ \Z"
    arandu.out(MASTER, "rm -rf hello; mkdir hello; cat > hello/helloworld.py", ME, 'print("Hello world")\n')
    dgx.type("cd hello", prompt)
    arandu.out(MASTER, "cat > hello/Dockerfile", ME, f"FROM {PYTORCH}\nCOPY . .\n")
    dgx.type("docker build . -t hello", prompt)
    assert "helloworld.py" in dgx.type("docker run --rm hello ls", prompt)
    assert "hello" in arandu.out(MASTER, "srun -p arandu docker images", COLLEAGUE)

    entry = 'ENTRYPOINT ["python3", "helloworld.py"]\n'
    arandu.out(MASTER, "cat > hello/Dockerfile", ME, f"FROM {PYTORCH}\nCOPY. .\n{entry}")
    assert "unknown instruction: COPY." in dgx.type("docker build . -t hello", prompt)
    arandu.out(MASTER, "cat > hello/Dockerfile", ME, f"FROM {PYTORCH}\nCOPY . .\n{entry}")
    dgx.type("docker build . -t hello", prompt)
    assert "\nHello world\n" in dgx.type("docker run -it --rm hello", prompt)


# Examples


@pytest.mark.promise("ARA-036", "ARA-037", "ARA-043")
def test_a_notebook_on_the_dgx_is_reached_by_colleagues(arandu: Testbed, dgx: Terminal) -> None:
    line = f"sudo docker run {FOR_ME} {OWN_GPUS} -p 8888:8888 --rm -it {PYTORCH}"
    dgx.type(line, r"[#$] \Z")
    output = dgx.type("jupyter notebook --ip=0.0.0.0 --port=8888 --no-browser &", r"token=\w+")
    token = re.search(r"http://\S+:8888/\?token=(\w+)", output)
    assert token
    page = f"exec 3<>/dev/tcp/{DGX}/8888; echo 'GET /?token={{}} HTTP/1.0' >&3; cat <&3"
    assert "200 OK" in arandu.out(MASTER, page.format(token[1]), COLLEAGUE)
    assert "403 Forbidden" in arandu.out(MASTER, page.format("wrong"), COLLEAGUE)


@pytest.mark.promise("ARA-038", "ARA-044")
def test_the_script_that_starts_a_notebook(arandu: Testbed, master: Terminal) -> None:
    """As printed it requests no GPU, and reads a variable on the master, where it is empty; then the right script."""
    line = f"srun -p arandu --pty -u docker run {FOR_ME} {OWN_GPUS} -p 8888:8888 --rm -it {PYTORCH}"
    broken = f"#!/bin/bash\n{line} -c jupyter notebook --allow-root --ip=0.0.0.0 --port=8888 --no-browser\n"
    arandu.out(MASTER, "rm -f startjupyter.sh; cat > startjupyter.sh", ME, broken)
    master.type("chmod 755 startjupyter.sh")
    assert "token=" not in master.type("./startjupyter.sh")
    arandu.out(MASTER, "cat > startjupyter.sh", ME, (INVENTORY / "arandu/examples/startjupyter.sh").read_text())
    assert re.search(r":8888/\?token=\w+", master.type("./startjupyter.sh", r"token=\w+"))


@pytest.mark.promise("ARA-023", "ARA-040", "ARA-047", "ARA-048")
def test_a_network_is_trained_in_the_background(arandu: Testbed, master: Terminal) -> None:
    """The program is a stand-in that writes the guide's output: PyTorch would be part of the image."""
    program = "open('models/trained_model.pt', 'w').write('trained')\nprint('Result: y')\n"
    folder = "rm -rf background_job; mkdir -p background_job/code background_job/models"
    arandu.out(MASTER, f"{folder}; cat > background_job/code/main.py", ME, program)
    printed_script = MYJOB.replace("-p arandu", "-p devwork").replace(PROJECT, "background_job")
    run = f"docker run {FOR_ME} --rm {OWN_GPUS} -v /output/{ME}/background_job:/workspace/data -w /workspace/data"
    script = re.sub(r"docker run .*", lambda _: f"{run} {PYTORCH} \\\n python3 code/main.py", printed_script)
    ours = (INVENTORY / "arandu/examples/train_model").read_text()
    for text, kept in ((script, False), (ours, True)):
        arandu.out(MASTER, "cat > background_job/train_model", ME, text)
        master.type("cd ~/background_job", r"job\$ \Z")
        job = re.search(r"Submitted batch job (\d+)", master.type("sbatch train_model", r"job\$ \Z"))
        assert job
        lines = printed(arandu, job[1], "~/background_job")
        assert re.match(r"Running on\nc4aiscw\d\n", lines)
        assert "Result: y" in lines
        saved = arandu.run(MASTER, "cat background_job/models/trained_model.pt", ME)
        assert (saved.returncode == 0) is kept, "as printed the results are removed with the folder"
