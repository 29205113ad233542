"""Jobs as in the guide, and the resources of a node that a job may use (sections E and H of the promises)."""

import pytest
from pace import until

from tests.testbed.cluster import Testbed

TEMPLATE = """#!/bin/bash
#SBATCH --job-name=train
#SBATCH --output=train.out
#SBATCH --error=train.err
#SBATCH --partition="kira-lab"
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=7
#SBATCH --gpus-per-node="rtx_6000:1"
#SBATCH --qos="short"
#SBATCH --exclude="a40-01"
#SBATCH --mem-per-gpu="40G"

export PYTHONUNBUFFERED=TRUE
source ~/.bashrc
cd ~
srun -u python3 -u train.py
"""
# opens all GPUs it may, prints at once, and waits to be inspected
PROGRAM = """
import errno, glob, os, sys, time
open_ones = 0
for gpu in glob.glob("/dev/nvidia[0-9]*"):
    try:
        os.open(gpu, os.O_RDWR)
    except OSError as error:
        open_ones += error.errno == errno.ENXIO  # allowed, but there is no driver
print("gpus", open_ones, "cpus", os.environ["SLURM_CPUS_ON_NODE"], "limit", os.environ["SLURM_JOB_QOS"])
print("on standard error", file=sys.stderr)
while not os.path.exists("go"):
    time.sleep(0.2)
"""


@pytest.mark.promise("SKY-100", "SKY-108")
def test_the_guides_batch_template_runs(idle: Testbed) -> None:
    idle.out("sky1", "rm -f go train.*; cat > job.sh", "u-kira1", TEMPLATE)
    idle.out("sky1", "cat > train.py", "u-kira1", PROGRAM)
    job = idle.out("sky1", "sbatch --parsable job.sh", "u-kira1")
    # unbuffered output is available while the program still runs
    output = until(lambda: idle.run("sky1", "cat train.out", "u-kira1").stdout, "the job says something")
    assert output == "gpus 1 cpus 7 limit short\n"
    seen = idle.wait_for(job, "RUNNING")
    assert (seen["NodeList"], seen["JobName"], seen["Partition"]) == ("clippy", "train", "kira-lab")
    assert "mem=40G" in seen["AllocTRES"]
    idle.out("sky1", "touch go", "u-kira1")
    idle.wait_for(job, "COMPLETED")
    assert idle.out("sky1", "cat train.out train.err", "u-kira1") == f"{output}on standard error"


@pytest.mark.promise("SKY-105")
def test_memory_per_gpu_is_allocated_up_to_a_maximum(idle: Testbed) -> None:
    most = idle.cluster.scheduler.max_memory.of_gpu("a40")
    assert most
    job = idle.submit("u-kira1", "-p short --gres=gpu:1 --mem-per-gpu=40G")
    assert "mem=40G" in idle.wait_for(job, "RUNNING")["AllocTRES"]
    refused = idle.run("sky1", f"sbatch --gres=gpu:1 --mem-per-gpu={most + 1024}M --wrap true", "u-kira1")
    assert refused.returncode
    assert "44G" in refused.stderr


@pytest.mark.promise("SKY-135")
def test_the_guides_squeue_shows_the_cpus(idle: Testbed) -> None:
    job = idle.submit("u-kira1", "-p short -c 5")
    idle.wait_for(job, "RUNNING")
    line = idle.out("sky1", 'squeue -h -o"%.7i %.9P %.8j %.8u %.2t %.10M %.6D %C"', "u-kira1").split()
    assert (line[0], line[-1]) == (job, "5")


@pytest.mark.promise("SKY-140")
def test_a_free_gpu_without_free_cpus_has_to_wait(idle: Testbed) -> None:
    look = "scontrol -o show node vicki | grep -oE '(RestrictedCoresPerGPU|CPUTot)=[^ (]*'"
    shown = dict(word.split("=") for word in idle.out("marvin", look).split())
    kept = int(shown["RestrictedCoresPerGPU"])  # CPUs that are only allocated with a GPU
    free = int(shown["CPUTot"]) - kept * idle.cluster.nodes["vicki"].gpu_count
    first = idle.submit("u-cvmlp1", f"-p short -w vicki --gres=gpu:1 -c {kept + free}")
    idle.wait_for(first, "RUNNING")
    waits = idle.submit("u-kira1", f"-p short -w vicki --gres=gpu:1 -c {kept + 1}")
    # a later job with fewer CPUs has started, so the second job waits for CPUs; it ends before backfill plans the
    # second job, for which it keeps the whole node (docs/preemption.md)
    idle.wait_for(idle.submit("u-hays1", f"-p short -w vicki --gres=gpu:1 -c {kept} -t 60"), "RUNNING")
    assert idle.job(waits)["JobState"] == "PENDING"
    idle.out("marvin", f"scancel {first}")
    idle.wait_for(waits, "RUNNING")


@pytest.mark.promise("SKY-149", "SKY-206")
def test_a_tmux_of_a_job_ends_with_it(idle: Testbed) -> None:
    script = "tmux -L inside new -d sleep 654; setsid sleep 655 & sleep 600"
    job = idle.submit("u-kira1", "-p short -w a40-01", script)
    count = "pgrep -cu u-kira1 -f 'sleep 65[45]|tmux -L inside' || true"
    until(lambda: int(idle.out("a40-01", count)) >= 3, "tmux has started its processes")
    idle.out("marvin", f"scancel {job}")
    until(lambda: idle.out("a40-01", count) == "0", "nothing of the job is left")
