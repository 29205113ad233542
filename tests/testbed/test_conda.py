"""conda in batch jobs as in the guides: a user's own, and a shared one; the template runs as it is printed."""

import hashlib
from pathlib import Path

import pytest
from pace import until

from tests.testbed.cluster import Changed, Testbed

INSTALLER = (Path(__file__).parents[1] / "shared" / "conda_installer.sh").read_text()
SHA256 = hashlib.sha256(INSTALLER.encode()).hexdigest()
PLACE = "/var/local/fixtures/Miniforge3-Linux-x86_64.sh"
KIRA, HAYS = "u-kira1", "u-hays1"
TEMPLATE = """#!/bin/bash
#SBATCH --job-name=conda
#SBATCH --output=conda.out
#SBATCH --error=conda.err
#SBATCH --partition="kira-lab"
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=7
#SBATCH --gpus-per-node="rtx_6000:1"
#SBATCH --qos="short"
#SBATCH --mem-per-gpu="4G"

export PYTHONUNBUFFERED=TRUE
source ~/.bashrc
conda activate my_env
cd ~/project

which python
srun -u python -u train.py lr=${lr} gamma=${gamma}
"""
OWN = "conda: {bashrc_hook: true, "
FOR_ALL = f'{OWN}installer: {{url: "file://{PLACE}", sha256: SHA, where: "sky1,clippy"}}, '


def printed(testbed: Testbed, user: str) -> list[str]:
    """Run the template as a user and return its output."""
    testbed.out("sky1", "mkdir -p project && rm -f conda.out conda.err && cat > job.sh", user, TEMPLATE)
    done = testbed.run("sky1", "sbatch --wait --export=lr=1e-4,gamma=1 job.sh", user)
    assert done.returncode == 0, done.stderr + testbed.run("sky1", "cat conda.err", user).stdout
    assert done.stdout.startswith("Submitted batch job ")
    return testbed.out("sky1", "cat conda.out", user).splitlines()


@pytest.mark.promise("SKY-100", "SKY-106", "SKY-109", "SKY-181", "GCP-023", "GCP-024", "GCP-028")
def test_the_template_of_the_guide_runs_with_a_users_own_conda(idle: Testbed) -> None:
    home = idle.out("sky1", "echo ~", KIRA)
    try:
        idle.out("sky1", "cat > Miniconda3.sh && bash Miniconda3.sh -b -p ~/miniconda3", KIRA, INSTALLER)
        idle.out("sky1", "source ~/.bashrc && conda create -n my_env python=3.9", KIRA)
        assert idle.out("clippy", "cat ~/miniconda3/envs/my_env/created", KIRA) == "create -n my_env python=3.9"
        assert printed(idle, KIRA) == [
            f"{home}/miniconda3/envs/my_env/bin/python",
            "python of my_env: -u train.py lr=1e-4 gamma=1",
        ]
        # the guide of another cluster sources conda's own file
        script = "#!/bin/bash\nsource ~/miniconda3/etc/profile.d/conda.sh\nconda activate my_env\nwhich python\n"
        idle.out("sky1", "sbatch --wait -o conda.out -p debug --gres=gpu:1", KIRA, script)
        assert idle.out("sky1", "cat conda.out", KIRA) == f"{home}/miniconda3/envs/my_env/bin/python"
    finally:
        idle.out("sky1", "rm -rf ~/miniconda3 ~/project ~/Miniconda3.sh ~/job.sh ~/conda.out ~/conda.err", KIRA)


@pytest.mark.promise("SKY-109")
def test_conda_for_all_comes_from_a_checked_installer_and_users_files_are_kept(changed: Changed) -> None:
    with_other_sum = changed("software.yml", OWN, FOR_ALL.replace("SHA", "0" * 64))
    nodes = ("sky1", "clippy")
    for node in nodes:
        with_other_sum.out(node, f"mkdir -p {PLACE.rpartition('/')[0]} && cat > {PLACE}", text=INSTALLER)
    try:
        refused = with_other_sum.apply("--limit", ",".join(nodes))
        assert refused.returncode == 1
        assert f"its sha256 is {SHA256}" in refused.stdout
        assert with_other_sum.run("sky1", "ls -d /opt/conda*").stdout == ""
        testbed = changed("software.yml", "0" * 64, SHA256)
        bashrc = testbed.out("sky1", "cat ~/.bashrc", HAYS)
        done = testbed.apply("--limit", ",".join(nodes))
        assert done.returncode == 0, done.stdout
        assert testbed.plan("--limit", ",".join(nodes)) == (0, {})
        assert testbed.out("sky1", "readlink /opt/conda") == f"/opt/conda-{SHA256[:12]}"
        assert testbed.out("sky1", "cat ~/.bashrc", HAYS) == bashrc
        testbed.out("sky1", "bash -lc 'conda create -n all_env python=3.9'", HAYS)
        script = "#!/bin/bash -l\nconda activate all_env\npython x\n"
        testbed.out("sky1", "sbatch --wait -o conda.out -p debug -w clippy --gres=gpu:1", HAYS, script)
        assert testbed.out("sky1", "cat conda.out", HAYS) == "python of all_env: x"
        # apply does not remove files that a user has put in place of the installation
        testbed.out("sky1", "rm /opt/conda && mkdir /opt/conda && touch /opt/conda/mine")
        refused = testbed.apply("--limit", "sky1")
        assert refused.returncode == 1
        assert "/opt/conda already exists, and gpupool did not install it" in refused.stdout
        assert testbed.out("sky1", "ls /opt/conda") == "mine"
    finally:
        for node in nodes:
            with_other_sum.out(node, f"rm -rf /opt/conda /opt/conda-* {PLACE.rpartition('/')[0]}")
        with_other_sum.out("sky1", "rm -rf ~/.conda ~/conda.out", HAYS)
        until(lambda: with_other_sum.out("marvin", "squeue -h") == "", "the jobs are gone")
