"""The users' other tools, with fake Slurm commands that print their arguments."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from inventories import INVENTORY, changed, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.system import manual
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.tools import MAKERS, SERVICE_UNIT, SETTINGS, SOCKET_UNIT, settings
from gpupool.unix import UNITS

SAYS = '#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done\n'
PAGES = (manual.GPU_USAGE, manual.SBASH, manual.UTILIZATION, manual.VSCODE, manual.ALIASES_PAGE)


def files(cluster: Cluster, node: str) -> dict[str, str]:
    return {file.path: file.text for file in files_of(cluster, cluster.nodes[node], "tools")}


def program(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return folder / name


def run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), **environment}
    return subprocess.run([*command], capture_output=True, text=True, check=False, env=env, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def aau() -> Cluster:
    return cluster_at(INVENTORY / "aau-ai-cloud")


def test_every_node_has_the_tools_of_the_inventory(skynet: Cluster) -> None:
    heads, compute = files(skynet, "sky1"), files(skynet, "clippy")
    names = ("gpu_usage", "sbash", "vscode-launch.sh")
    assert {f"/usr/local/bin/{name}" for name in names} <= heads.keys()
    assert {"/usr/local/bin/gpu_usage", SETTINGS, SOCKET_UNIT, SERVICE_UNIT} <= compute.keys()
    assert "/usr/local/bin/sbash" not in compute
    assert {"python3", "man-db"} <= set(packages_for(skynet, skynet.nodes["sky1"]))
    assert files(skynet, "multivac") == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_tool_has_a_man_page_and_help(page: manual.Page, tmp_path: Path) -> None:
    assert page.name in MAKERS
    text = manual.roff(page)
    for option, meaning in page.options:
        assert option.replace("-", "\\-") in text
        assert meaning.replace("-", "\\-") in text
    if groff := shutil.which("groff"):
        (tmp_path / "page").write_text(text)
        done = subprocess.run([groff, "-man", "-ww", "-Tascii", str(tmp_path / "page")], capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["getUtilByJobId.sh", "vscode-launch.sh"])
def test_help_lists_the_options(name: str, skynet: Cluster, aau: Cluster, tmp_path: Path) -> None:
    texts = {**files(skynet, "sky1"), **files(aau, next(node.name for node in aau.having("head")))}
    done = run(tmp_path, str(program(tmp_path, name, texts[f"/usr/local/bin/{name}"])), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {name} ")
    assert "--help" in done.stdout


# getUtilByJobId.sh


@pytest.fixture
def looked(aau: Cluster, tmp_path: Path) -> Path:
    text = files(aau, aau.having("head")[0].name)["/usr/local/bin/getUtilByJobId.sh"]
    program(tmp_path, "srun", SAYS)
    return program(tmp_path, "getUtilByJobId.sh", text)


def test_the_gpus_of_a_job_are_shown_from_within_it(looked: Path, tmp_path: Path) -> None:
    """The test also runs the step that it starts, with a fake nvidia-smi that ends after its first output."""
    me = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    program(tmp_path, "squeue", f"#!/bin/sh\necho '815|{me}|RUNNING|2'\n")
    done = run(tmp_path, str(looked), "-s", "3", "82563")
    assert done.returncode == 0, done.stderr
    head, *asked = done.stdout.splitlines()
    assert head.startswith("GPUs of job 82563, every 3 s")
    assert {"--overlap", "--jobid=815", "--nodes=2", "--ntasks=2", "--quit-on-interrupt"} <= set(asked)
    step = "\n".join(asked[asked.index("-c") + 1 :])
    program(tmp_path, "nvidia-smi", '#!/bin/sh\n[ -e done ] && exit 9\ntouch done\necho "$*"\n')
    program(tmp_path, "sleep", "#!/bin/sh\n")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": "0,3", "SLURMD_NODENAME": "n1"}
    command = ["bash", "-o", "pipefail", "-c", step]
    inside = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    fields = "index,timestamp,utilization.gpu,utilization.memory,memory.used,memory.total"
    assert inside.stdout == f"n1, --id=0,3 --query-gpu={fields} --format=csv\n"
    without = subprocess.run(command, capture_output=True, text=True, env={**env, "CUDA_VISIBLE_DEVICES": ""})
    assert (without.returncode, without.stderr) == (1, "getUtilByJobId.sh: the job has no GPU on n1\n")


@pytest.mark.parametrize(
    ("options", "queue", "why"),
    [
        (["12"], "exit 1", "job 12: "),
        (["12"], "", "there is no job 12 in the queue"),
        (["12"], "echo '12|u-other|RUNNING|1'", "job 12 is of u-other: you can only look at your own jobs"),
        (["12"], 'echo "12|$(id -un)|PENDING|1"', "job 12 does not run: it is PENDING"),
        (["12"], 'echo "a"; echo "b"', "job 12 is an array: name one of its tasks, such as 12_1"),
        (["1;id"], "", "'1;id' is not a job's id"),
        (["-s", "0", "12"], "", "--seconds: '0' is not a whole number of seconds"),
        ([], "", "name one job: getUtilByJobId.sh JOBID"),
    ],
)
def test_a_job_that_cannot_be_shown_is_an_error(
    looked: Path, tmp_path: Path, options: list[str], queue: str, why: str
) -> None:
    program(tmp_path, "squeue", f"#!/bin/sh\n{queue}\n")
    done = run(tmp_path, str(looked), *options)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert done.stderr.startswith(f"getUtilByJobId.sh: {why}")


# vscode-launch.sh


@pytest.fixture
def launch(skynet: Cluster, tmp_path: Path) -> Path:
    program(tmp_path, "salloc", SAYS)
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "authorized_keys").write_text("ssh-ed25519 AAAA u-kira1\n")
    return program(tmp_path, "vscode-launch.sh", files(skynet, "sky1")["/usr/local/bin/vscode-launch.sh"])


def test_vscode_requests_its_job(launch: Path, tmp_path: Path) -> None:
    options = "--gpus a40:1 --cpus-per-task 15 --partition kira-lab --comment 'a b'"
    done = run(tmp_path, str(launch), SKY_VSC_LAUNCH=options)
    assert done.returncode == 0, done.stderr
    asked = done.stdout.splitlines()
    assert asked[4:12] == ["--gpus", "a40:1", "--cpus-per-task", "15", "--partition", "kira-lab", "--comment", "a b"]
    assert asked[-2:] == [str(launch), "--connect"]
    key = tmp_path / ".ssh" / "gpupool-vscode"
    first = key.read_text()
    assert key.stat().st_mode & 0o077 == 0
    assert "--gpus=2" in run(tmp_path, str(launch), "--gpus=2", SKY_VSC_LAUNCH=options).stdout.splitlines()
    assert key.read_text() == first, "known_hosts of the user's machine holds"
    assert sorted(path.name for path in key.parent.iterdir()) == ["authorized_keys", "gpupool-vscode"]


@pytest.mark.parametrize("salloc", ["lives", "is killed"])
def test_the_connection_is_piped_to_the_job_and_ends_with_it(launch: Path, tmp_path: Path, salloc: str) -> None:
    """A fake srun plays the step: it listens in place of sshd, and answers in capitals. A shell replaces salloc."""
    server = (
        "import re, socket, sys; port = int(re.search(r'serve ([0-9]+)', sys.argv[-1].split('}')[-1])[1])\n"
        "with socket.create_server(('127.0.0.1', port)) as s:\n"
        "    c = s.accept()[0]\n    c.sendall(c.recv(100).upper())\n    c.recv(100)\n"
    )
    (tmp_path / "server.py").write_text(server)
    program(tmp_path, "srun", f'#!/bin/sh\nexec {sys.executable} {tmp_path}/server.py "$@"\n')
    program(tmp_path, "scancel", f'#!/bin/sh\necho "$@" >{tmp_path}/cancelled\n')
    env = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NODELIST": "127.0.0.1",
    }
    command = ["sh", "-c", 'exec 3<&0; "$0" --connect <&3 & wait', str(launch)]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"hello\0")
        process.stdin.flush()
        assert process.stdout.read(6) == b"HELLO\0"
        if salloc == "is killed":
            process.kill()
            process.wait()
        process.stdin.close()
        process.stdout.read()  # until the connection's processes have ended
    if salloc == "lives":  # it releases the job itself, which so ends as COMPLETED
        assert not (tmp_path / "cancelled").exists()
    else:
        assert (tmp_path / "cancelled").read_text().split() == ["--quiet", str(os.getpid())]


@pytest.mark.parametrize(
    ("options", "why"),
    [("", "set SKY_VSC_LAUNCH"), ("--comment 'a", "SKY_VSC_LAUNCH has an unmatched quote")],
)
def test_vscode_without_options_requests_the_default_job(launch: Path, tmp_path: Path, options: str, why: str) -> None:
    done = run(tmp_path, str(launch), SKY_VSC_LAUNCH=options)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"vscode-launch.sh: {why}" in done.stderr


# sacct, aliases, the batch job


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("-j 82563 --format=User,state%30,AllocGRES", "-j 82563 --format=User,state%30,AllocTRES%50"),
        ("--format User,allocgres%20", "--format User,AllocTRES%20"),
        ("-X -oReqGRES,User", "-X -oReqTRES%50,User"),
        ("-nXo jobid,AllocGRES -P", "-nXo jobid,AllocTRES%50 -P"),
        ("-j 1 --user=AllocGRES", "-j 1 --user=AllocGRES"),
        ("--format", "--format"),
        ("", ""),
    ],
)
def test_sacct_accepts_old_names(aau: Cluster, tmp_path: Path, given: str, asked: str) -> None:
    node = aau.having("head")[0].name
    text = files(aau, node)["/usr/local/bin/sacct"].replace("/usr/bin/sacct", str(program(tmp_path, "real", SAYS)))
    done = run(tmp_path, str(program(tmp_path, "sacct", text)), *given.split())
    assert (done.returncode, done.stderr, done.stdout.split()) == (0, "", asked.split())


def test_other_clusters_have_slurms_sacct(skynet: Cluster) -> None:
    assert "/usr/local/bin/sacct" not in files(skynet, "sky1")


def test_a_login_shell_has_the_aliases(skynet: Cluster, tmp_path: Path) -> None:
    path = "/etc/profile.d/gpupool-slurm-aliases.sh"
    file = program(tmp_path, "aliases.sh", files(skynet, "sky1")[path].replace(path, str(tmp_path / "aliases.sh")))
    for name in ("squeue", "sinfo", "sacct", "sacctmgr", "gpu_usage"):
        program(tmp_path, name, f"{SAYS}echo {name}\n")
    script = "shopt -s expand_aliases; . {}\n{}\n"
    for alias in manual.ALIASES:
        done = run(tmp_path, "bash", "-euc", script.format(file, alias.name))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split()[-1] == alias.command.split()[0]
    listed = run(tmp_path, "bash", "-euc", script.format(file, "slurm-aliases"))
    assert len(listed.stdout.splitlines()) == len(manual.ALIASES) + 1
    assert run(tmp_path, "sh", "-euc", f". {file}").returncode == 0, "other shells read it as well"


@pytest.mark.promise("SKY-202", "SKY-203")
def test_the_example_job_has_valid_options_for_sbatch(skynet: Cluster) -> None:
    lines = files(skynet, "sky1")["/usr/local/share/gpupool/examples/job.sh"].splitlines()
    assert lines[0] == "#!/bin/bash"
    options = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH")]
    assert {"--partition=short", "--cpus-per-task=7", "--gpus-per-node=1", "--ntasks-per-node=1"} <= set(options)
    assert all(option.startswith("--") and option[2].isalpha() and option.isascii() for option in options)
    assert lines.index("") == len(options) + 1, "Slurm reads options up to the first command"


def test_the_example_job_requests_one_cpu_if_the_cluster_has_no_number_per_gpu(tmp_path: Path) -> None:
    cluster = changed(INVENTORY / "skynet", tmp_path, ("  warn_cpus_per_gpu:", "  # "))
    assert "#SBATCH --cpus-per-task=1\n" in files(cluster, "sky1")["/usr/local/share/gpupool/examples/job.sh"]


# Information that users may see


@pytest.mark.parametrize(
    ("hidden", "empty"),
    [("jobs", []), ("accounts", ["caps", "parents", "lending"]), ("nodes", ["types"]), ("partitions", ["partitions"])],
)
def test_data_that_slurm_hides_is_in_no_file(tmp_path: Path, hidden: str, empty: list[str]) -> None:
    new = f"scheduler:\n  private_data: [{hidden}]"
    cluster = changed(INVENTORY / "skynet", tmp_path, ("scheduler:", new))
    values = settings(cluster)
    lists = ("caps", "parents", "lending", "partitions", "types")
    assert [key for key in lists if not values[key] and key != "parents"] == [
        name for name in empty if name != "parents"
    ]
    assert values["private"] == (hidden == "jobs")
    units = [path for path in files(cluster, "sky1") if path.startswith(UNITS)]
    assert bool(units) == (hidden != "jobs"), "no answer is shared that Slurm would not give to all"


def test_the_service_has_no_rights(skynet: Cluster) -> None:
    service = files(skynet, "sky1")[SERVICE_UNIT].splitlines()
    assert {"DynamicUser=yes", "CapabilityBoundingSet=", "NoNewPrivileges=yes", "RuntimeDirectoryMode=0755"} <= set(
        service
    )
    assert not [line for line in service if line.startswith("User=")]
    assert "ListenStream=/run/gpupool-queue.sock" in files(skynet, "sky1")[SOCKET_UNIT]
