"""The user guide of SkyNet, in its order: a user's commands as printed there, and their results.

Commands that tests/testbed types in the guide's own words are not typed again: commands.tsv names the test. The
author's user name, lab and files are replaced by those of a user of the testbed. If the guide's own line does not work,
it is typed as printed and shown to fail, and then in the form that works.
"""

import re
from collections.abc import Iterator

import pytest
from pace import until

from tests.guides.terminal import Terminal
from tests.testbed.cluster import Testbed

HEAD, NODE = "sky1", "clippy"
ME, LAB = "u-hoffman1", "hoffman-lab"
FLASH = f"/srv/{LAB}/flash9/{ME}"
SUBMITTED = r"Submitted batch job (\d+)"


@pytest.fixture
def head(idle: Testbed) -> Iterator[Terminal]:
    """A log-in on the head node, without files of earlier tests: `ssh <headnode>`."""
    clean = f"rm -rf {FLASH} ~/flash ~/codebase ~/miniconda3 ~/job.sh ~/train.* ~/main.py ~/started ~/go ~/ended ~/full"
    idle.out(HEAD, clean, ME)
    with Terminal(idle, HEAD, ME) as terminal:
        yield terminal
    idle.out(HEAD, clean, ME)


def submitted(shown: str) -> str:
    """Return the number of a job from the output of sbatch."""
    job = re.search(SUBMITTED, shown)
    assert job, shown
    return job[1]


# How does storage work?


@pytest.mark.promise("SKY-055", "SKY-090", "SKY-091")
def test_a_link_named_flash_points_to_the_labs_storage(head: Terminal) -> None:
    assert "cannot" not in head.type(f"mkdir {FLASH}")
    head.type(f"ln -s {FLASH} ~/flash")
    assert f"flash -> {FLASH}" in head.type("ls -l ~/flash")
    head.type("echo kept > ~/flash/note")
    assert "\nkept\n" in head.type(f"srun cat {FLASH}/note")


# Preinstalled tools


@pytest.mark.promise("SKY-113", "SKY-114", "SKY-115")
def test_the_breakdowns_can_be_typed_anywhere(idle: Testbed, head: Terminal) -> None:
    idle.wait_for(idle.submit(ME, "-p short --gres=gpu:1"), "RUNNING")
    for command, row in (("gpu_usage -u", ME), (f"gpu_usage -u -p {LAB}", ME), ("gpu_usage -l", LAB)):
        until(lambda command=command, row=row: re.search(rf"(?m)^{row} ", head.type(command)), f"{command} has a row")
    with Terminal(idle, NODE, ME) as compute:
        assert re.search(rf"(?m)^{LAB} ", compute.type("gpu_usage -l"))


# Sbatch

# the guide names no quota, and a testbed has one node of the type rtx_6000, which the template excludes
TEMPLATE = f"""
#!/bin/bash
#SBATCH --job-name=train
#SBATCH --output=train.out
#SBATCH --error=train.err
#SBATCH --partition="{LAB}"
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=7
#SBATCH --gpus-per-node="a40:1"
#SBATCH --qos="short"
#SBATCH --exclude="clippy"
#SBATCH --mem-per-gpu="40G"

export PYTHONUNBUFFERED=TRUE
source ~/.bashrc
conda activate my_env
cd ~/codebase

srun -u python -u train.py
"""
PROGRAM = "import os, sys\nprint('in', os.environ['CONDA_DEFAULT_ENV'], *sys.argv[1:])\n"
CONDA = "conda() { export CONDA_DEFAULT_ENV=$2; }\n"


@pytest.fixture
def codebase(idle: Testbed, head: Terminal) -> None:
    """A program, and a stand-in for conda: the part that a user's .bashrc reads."""
    idle.out(HEAD, "mkdir codebase && cat > codebase/train.py", ME, PROGRAM)
    idle.out(HEAD, "mkdir -p miniconda3/etc/profile.d && cat > miniconda3/etc/profile.d/conda.sh", ME, CONDA)


def printed(idle: Testbed, job: str) -> str:
    """Return the output of a job that must end successfully."""
    idle.wait_for(job, "COMPLETED")
    text: str = until(lambda: idle.run(HEAD, "cat train.out", ME).stdout, "the job's output is there")
    return text


@pytest.mark.promise("SKY-025", "SKY-100", "SKY-101", "SKY-108", "SKY-109", "SKY-202")
def test_the_template_runs_without_its_first_blank_line(idle: Testbed, head: Terminal, codebase: None) -> None:
    idle.out(HEAD, "cat > job.sh", ME, TEMPLATE)
    assert "This does not look like a batch script" in head.type("sbatch job.sh")
    idle.out(HEAD, "cat > job.sh", ME, TEMPLATE.lstrip())
    assert printed(idle, submitted(head.type("sbatch job.sh"))) == "in my_env\n"
    assert idle.out(HEAD, "cat train.err", ME) == ""


@pytest.mark.promise("SKY-106")
def test_exported_variables_are_filled_in(idle: Testbed, head: Terminal, codebase: None) -> None:
    last = "srun -u python -u train.py"
    idle.out(HEAD, "cat > job.sh", ME, TEMPLATE.lstrip().replace(last, f"{last} lr=${{lr}} gamma=${{gamma}}"))
    job = submitted(head.type("sbatch --export=lr=1e-4,gamma=1 job.sh"))
    assert printed(idle, job) == "in my_env lr=1e-4 gamma=1\n"


@pytest.mark.promise("SKY-203")
def test_an_option_needs_two_plain_dashes(idle: Testbed, head: Terminal) -> None:
    idle.out(HEAD, "cat > job.sh", ME, "#!/bin/sh\ntrue\n")
    assert "Unable to open file" in head.type("sbatch —-output=train.out job.sh")
    assert 'Invalid numeric value "tasks=2" for --ntasks' in head.type("sbatch -ntasks=2 job.sh")
    assert 'Invalid numeric value "pus-per-task=7" for --cpus-per-task' in head.type("sbatch -cpus-per-task=7 job.sh")
    job = submitted(head.type("sbatch --output=train.out --ntasks=2 --cpus-per-task=7 job.sh"))
    assert idle.wait_for(job, "COMPLETED")["NumCPUs"] == "14"


# Overcap


@pytest.mark.promise("SKY-119", "SKY-120", "SKY-205")
def test_a_batch_job_in_overcap_names_partition_and_account(idle: Testbed, head: Terminal) -> None:
    partition, account = "#SBATCH --partition=overcap\n", "#SBATCH --account=overcap\n"
    idle.out(HEAD, "cat > job.sh", ME, f"#!/bin/bash\n{partition}true\n")
    for other in ("", f"-A {LAB}", "-p short -A overcap"):
        refusal = head.type(f"sbatch -o /dev/null {other} job.sh")
        assert "Invalid account or account/partition combination" in refusal, other
    idle.out(HEAD, "cat > job.sh", ME, f"#!/bin/bash\n{partition}{account}true\n")
    ended = idle.wait_for(submitted(head.type("sbatch -o /dev/null job.sh")), "COMPLETED")
    assert (ended["Partition"], ended["Account"]) == ("overcap", "overcap")


# Some more nuanced things to know about sbatch jobs


@pytest.mark.promise("SKY-132", "SKY-133", "SKY-134", "SKY-135")
def test_cpus_are_multiplied_by_tasks_and_shown_in_squeue(idle: Testbed, head: Terminal) -> None:
    gpus = 2
    asked = {
        f"--ntasks={gpus} --cpus-per-task=15 --gpus-per-node=a40:{gpus}": 15 * gpus,
        f"--ntasks={gpus} --cpus-per-task=7 --gpus-per-node=2080_ti:{gpus}": 7 * gpus,
        f"--cpus-per-task={gpus * 15} --gpus-per-node=a40:{gpus}": 15 * gpus,
        f"--cpus-per-task={gpus * 7} --gpus-per-node=2080_ti:{gpus}": 7 * gpus,
    }
    sbatch = "sbatch -o /dev/null -p overcap -A overcap"  # the lab's cap is smaller on a testbed
    wait = "--wrap 'until [ -e go ]; do sleep 0.2; done'"
    jobs = {submitted(head.type(f"{sbatch} {options} {wait}")): cpus for options, cpus in asked.items()}
    for job in jobs:
        idle.wait_for(job, "RUNNING")
    shown = head.type('squeue -o"%.7i %.9P %.8j %.8u %.2t %.10M %.6D %C"')
    assert re.search(r"(?m)^ +JOBID PARTITION +NAME +USER ST +TIME +NODES CPUS$", shown)
    rows = re.findall(r"(?m)^ +(\d+) .* R +\S+ +1 (\d+)$", shown)
    assert {job: int(cpus) for job, cpus in rows} == jobs
    head.type("touch go")
    until(lambda: idle.out(HEAD, "squeue -h --me", ME) == "", "the jobs end")


# Storage


@pytest.mark.promise("SKY-092")
def test_files_are_transferred_by_rsync(head: Terminal) -> None:
    head.type(f"mkdir ~/codebase {FLASH}")
    head.type("seq 1000 > ~/codebase/numbers")
    assert "100%" in head.type(f"rsync -ah --info=progress2 ~/codebase {FLASH}/")
    assert "100%" in head.type(f"rsync -ah -P {FLASH}/codebase/numbers ~/full")


@pytest.mark.promise("SKY-095", "SKY-096", "SKY-097")
def test_a_directory_contains_its_usage(idle: Testbed) -> None:
    user = "u-hays1"
    usage = f"cat /srv/share/{user}/disk-usage.txt"
    try:
        with Terminal(idle, HEAD, user) as head:
            head.type(f"mkdir /srv/share/{user}")
            assert "No such file or directory" in head.type(usage)
            idle.out("multivac", "systemctl start gpupool-usage")
            assert re.search(
                r"(?m)^Updated: \d{4}-\d\d-\d\d \d\d:\d\d\nUsage \(human-readable\):  [\d.]+[KMGT]\nUsage \(K\): \d+$",
                head.type(usage),
            )
    finally:
        idle.out("multivac", f"rm -rf /pskynet1/{user}")


#: Server and path, size, and mount point of each line in the guide; two sizes are the nominal ones.
DF = """\
multivac.cc.gatech.edu:/pskynet1                       50T   41T  8.7T  83% /coc/pskynet1
multivac.cc.gatech.edu:/pskynet2                       30T   22T  8.2T  73% /coc/pskynet2
microvac.cc.gatech.edu:/zfs/microvac-store3/pskynet3   27T   21T  5.5T  80% /coc/pskynet3
multivac.cc.gatech.edu:/export/scratch                 60T   58T  1.5T  98% /coc/scratch
microvac.cc.gatech.edu:/zfs/microvac-store2/dataset    25T   23T  1.2T  95% /coc/dataset
galactic-ac.cc.gatech.edu:/zfs/data                   194T     0  194T   0% /coc/pskynet4
cosmic-ac.cc.gatech.edu:/zfs/cosmic-ac/project         70T     0   70T   0% /coc/pskynet5
"""
DF_HEADER = "Filesystem                                            Size  Used Avail Use% Mounted on"


@pytest.mark.promise("SKY-076", "SKY-077", "SKY-078", "SKY-079", "SKY-080", "SKY-081", "SKY-082", "SKY-084", "SKY-194")
def test_free_space_is_shown_by_df(head: Terminal) -> None:
    shown = head.type('df -h | grep -E "coc|F"').splitlines()
    assert DF_HEADER in shown
    without_header = head.type("df -h | grep coc").splitlines()
    assert DF_HEADER not in without_header
    for row in DF.splitlines():
        source, size, *_, place = row.split()
        for lines in (shown, without_header):
            assert any(line.startswith(f"{source} ") and line.split()[1::4] == [size, place] for line in lines), row


LS = """\
datasets -> /coc/dataset
scratch -> /coc/scratch
share -> /coc/pskynet1
share2 -> /coc/pskynet2
share3 -> /coc/pskynet3
share4 -> /coc/pskynet4
share5 -> /coc/pskynet5
testing -> /zfs/testshare
"""


@pytest.mark.promise("SKY-085", "SKY-086", "SKY-193")
def test_srv_shows_the_targets_of_its_links(head: Terminal) -> None:
    shown = head.type("ls -l /srv")
    for link in LS.splitlines():
        assert re.search(rf"(?m)^lrwxrwxrwx 1 root root +\d+ .* {link}$", shown), link
    for place in ("/coc/psknet1", "/srv/share1"):
        assert "No such file or directory" in head.type(f"ls -d {place}")


# Slurm

REQUESTS = {
    "--gres=gpu:2": r"\S+",
    "--gres=gpu:titan_x:2": "(titanx-01|vicki)",
    "--constraint=titan_x --gpus-per-node=2": "(titanx-01|vicki)",
    "--constraint=2080_ti --gpus-per-node=2": "rtx2080ti-01",
    '--constraint="2080_ti|rtx_6000"': "(rtx2080ti-01|clippy)",
    "--gpus-per-task=1 --ntasks=2": r"\S+",
    "--gres=gpu:1 -c 6": r"\S+",
    "--gres=gpu:2 --ntasks-per-node=2 -c 6": r"\S+",
    "--constraint=titan_x": "(titanx-01|vicki)",
    "--constraint=2080_ti": "rtx2080ti-01",
    "--constraint=rtx_6000": "clippy",
    "--constraint=a40": "a40-01",
    "-p short,user-overcap": r"\S+",
    # the guide has these in jobs only
    "--gpus-per-node=rtx_6000:1": "clippy",
    "--gpus a40:1 --cpus-per-task 15": "a40-01",
}


@pytest.mark.promise(
    *("SKY-104", "SKY-130", "SKY-136", "SKY-137", "SKY-138", "SKY-139", "SKY-144", "SKY-150", "SKY-184", "SKY-188")
)
def test_a_job_runs_where_its_options_select(head: Terminal) -> None:
    for options, node in REQUESTS.items():
        assert re.search(rf"(?m)^at {node}$", head.type(f"srun {options} sh -c 'echo at $(hostname)'")), options


@pytest.mark.promise("SKY-013", "SKY-148")
def test_a_job_in_tmux_survives_the_connection(idle: Testbed, head: Terminal) -> None:
    program = "import os, time\nopen('started', 'w')\nwhile not os.path.exists('go'):\n    time.sleep(0.2)\n"
    idle.out(HEAD, "cat > main.py", ME, f"{program}open('ended', 'w').write(os.environ['CUDA_VISIBLE_DEVICES'])\n")
    try:
        with Terminal(idle, HEAD, ME) as before:
            before.type("tmux new -stest", r"\[test\]")
            before.type('srun --gres gpu:1 -p debug -J "test" --pty bash', rf"{ME}@(?!{HEAD})")
            before.type("python main.py", r"main\.py")
            until(lambda: idle.run(HEAD, "ls started", ME).returncode == 0, "the program runs")
        assert "test: 1 windows" in head.type("tmux ls")
        assert head.type("squeue -h --me -o '%j %P %t'").splitlines()[1] == "test debug R"
        head.type("touch go")
        assert until(lambda: idle.run(HEAD, "cat ended", ME).stdout, "the program ends of itself") == "0"
        head.type("tmux send-keys -t test exit Enter")
        until(lambda: idle.out(HEAD, "squeue -h --me", ME) == "", "the job ends with its shell")
    finally:
        idle.run(HEAD, "tmux kill-session -t test", ME)


@pytest.mark.promise("SKY-004", "SKY-151")
def test_nodes_and_their_gpus(head: Terminal) -> None:
    shown = head.type('sinfo -o "%f %N"')
    for row in ("2080_ti rtx2080ti-01", "a40 a40-01", "rtx_6000 clippy", r"titan_x titanx-01,vicki"):
        assert re.search(rf"(?m)^{row}$", shown), shown


# Frequently encountered issues


def test_a_file_is_emptied_before_it_is_removed(head: Terminal) -> None:
    """In a full home rm fails at first: tests/vm shows that, with a real quota."""
    head.type("head -c 1000000 /dev/zero > ~/full")
    head.type("cat /dev/null > ~/full")
    assert re.search(r"(?m)^0$", head.type("stat -c %s ~/full"))
    head.type("rm ~/full")
    assert "No such file" in head.type("ls ~/full")
