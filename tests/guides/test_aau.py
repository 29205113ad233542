"""The slides of AAU AI Cloud, in their order: what a user types, as it is printed there, and what comes of it.

Singularity's chapter is typed on another cluster's node (tests/testbed/test_singularity.py), in the same words.
"""

import os
import re
from collections.abc import Iterator

import pytest
from inventories import INVENTORY
from pace import until

from tests.guides.terminal import Terminal
from tests.testbed.cluster import Testbed, gpupool, up

PILOT, NODE, OTHER_NODE = "ai-pilot", "nv-ai-03", "nv-ai-01"
ME, COLLEAGUE = "u1@student.aau.dk", "u2@cs.aau.dk"
NETWORK = "10.177.0.0/16"


@pytest.fixture(scope="module")
def cloud() -> Iterator[Testbed]:
    """The cluster."""
    inventory = INVENTORY / "aau-ai-cloud"
    yield up(inventory, NETWORK)
    if not os.environ.get("GPUPOOL_TEST_KEEP"):
        gpupool("testbed", "down", inventory)


@pytest.fixture
def front(cloud: Testbed) -> Iterator[Terminal]:
    """A log-in on the front-end: `ssh <aau ID>@ai-pilot.srv.aau.dk`. No job of before is left."""
    until(lambda: not cloud.out(PILOT, "squeue -h -o %A | tee /dev/stderr | xargs -r scancel"), "all jobs have ended")
    with Terminal(cloud, PILOT, ME) as terminal:
        yield terminal


# Machines and access


@pytest.mark.promise("AAU-006")
def test_a_home_is_closed_to_others(cloud: Testbed) -> None:
    cloud.out(PILOT, "echo mine > ~/mine && chmod 644 ~/mine", ME)
    home = cloud.out(PILOT, "echo ~", ME)
    assert home == "/user/student.aau.dk/u1"
    for node in (PILOT, NODE):
        refused = cloud.run(
            PILOT, f"cat {home}/mine" if node == PILOT else f"srun -w {node} cat {home}/mine", COLLEAGUE
        )
        assert "Permission denied" in refused.stderr


@pytest.mark.promise("AAU-010", "AAU-011")
def test_shells_and_what_goes_on_after_disconnecting(cloud: Testbed) -> None:
    assert cloud.out(PILOT, "echo $SHELL", ME) == "/bin/bash"
    for command in ("zsh --version", "byobu --version", "screen -v", "tmux -V"):
        cloud.out(PILOT, command, ME)
    cloud.out(PILOT, "tmux new-session -d -s mine sleep 6011", ME)
    try:
        assert "mine:" in cloud.out(PILOT, "tmux list-sessions", ME), "another log-in finds it"
    finally:
        cloud.out(PILOT, "tmux kill-session -t mine", ME)


@pytest.mark.promise("AAU-012", "AAU-016")
def test_a_user_id_with_a_domain_logs_in_and_runs_a_job(cloud: Testbed, front: Terminal) -> None:
    assert PILOT in front.type("hostname")
    assert cloud.out(PILOT, "srun whoami", ME) == ME
    users = cloud.out(PILOT, "sacctmgr -nP show assoc format=account,user", ME).split()
    assert f"es.shj|{ME}" in users


# Slurm


@pytest.mark.promise("AAU-017")
def test_memory_and_time_end_a_job(cloud: Testbed, front: Terminal) -> None:
    asked = cloud.out(PILOT, "sbatch --parsable -o /dev/null --time=20:00 --mem=64M --wrap 'tail /dev/zero'", ME)
    cloud.wait_for(asked, "OUT_OF_MEMORY")
    held = cloud.submit(ME, "--time=20:00 -c 2 --gres=gpu:1 --mem=1G")
    tres = cloud.wait_for(held, "RUNNING")["AllocTRES"]
    assert tres == "cpu=2,mem=1G,node=1,billing=2,gres/gpu=1"
    assert cloud.job(held)["TimeLimit"] == "00:20:00"


@pytest.mark.promise("AAU-018", "AAU-019", "AAU-032", "AAU-033")
def test_accounts_and_qos_as_sacctmgr_shows_them(cloud: Testbed, front: Terminal) -> None:
    parents = cloud.out(PILOT, "sacctmgr -nP show account withassoc format=account,parentname", ME).splitlines()
    assert {"cs|root", "es|root", "es.shj|es"} <= set(parents)
    shown = front.type("sacctmgr show qos format=name,priority,maxtresperuser%20,MaxWall")
    for row in (r"normal +40 +cpu=20,gres/gpu=1 +2-00:00:00", r"1gpulong +30 +cpu=16,gres/gpu=1 +14-00:00:00"):
        assert re.search(row, shown), shown
    mine = front.type("sacctmgr show assoc format=account,user%30,qos%40")
    assert re.search(rf"es\.shj +{re.escape(ME)} +normal,short", mine), mine
    assert re.search(rf"cs +{re.escape(COLLEAGUE)} +\S*allgpus", mine), mine
    assert "Invalid qos specification" in front.type("srun --qos=allgpus true")
    assert cloud.out(PILOT, "srun --qos=allgpus --gres=gpu:2 echo all", COLLEAGUE) == "all"


@pytest.mark.promise("AAU-021", "AAU-022", "AAU-036")
def test_the_commands_and_their_pages(cloud: Testbed, front: Terminal) -> None:
    for command in ("sbatch", "salloc", "srun", "scancel", "squeue", "sinfo", "scontrol", "sprio"):
        assert "slurm" in cloud.out(PILOT, f"{command} --version", ME)
    assert "priority/multifactor" in cloud.out(PILOT, "scontrol show config | grep ^PriorityType", ME)
    assert "scontrol" in cloud.out(PILOT, "man scontrol | head -n 5", ME)


@pytest.mark.promise("AAU-023", "AAU-025")
def test_srun_gives_a_shell_on_a_node_and_salloc_one_on_the_front_end(cloud: Testbed, front: Terminal) -> None:
    assert re.search(r"@nv-ai-0\d:~\$ \Z", front.type("srun --pty --time=20:00 bash -l"))
    assert "00:20:00" in front.type("scontrol show job $SLURM_JOB_ID | grep -o 'TimeLimit=[^ ]*'")
    front.type("exit")
    said = front.type(f"salloc --time=20:00 --nodelist={NODE}.srv.aau.dk", r"Granted job allocation[\s\S]*\$ \Z")
    assert f"@{PILOT}:" in said
    front.type("exit", r"Relinquishing job allocation[\s\S]*\$ \Z")


@pytest.mark.promise("AAU-024", "AAU-050")
def test_ssh_into_a_node_needs_a_job_there(cloud: Testbed, front: Terminal) -> None:
    ssh = f"ssh {NODE}.srv.aau.dk"
    assert cloud.run(PILOT, f"{ssh} true", ME).returncode
    front.type(f"salloc --time=20:00 --nodelist={NODE}.srv.aau.dk", r"Granted job allocation[\s\S]*\$ \Z")
    assert f"@{NODE}:" in front.type(ssh)
    assert "top -" in front.type(f"top -b -n 1 -u {ME}")
    assert "USS" in front.type("smem -u -k")
    front.type("exit")
    front.type("exit", r"Relinquishing job allocation[\s\S]*\$ \Z")
    until(lambda: cloud.run(PILOT, f"{ssh} true", ME).returncode, "nobody gets in after the job")


@pytest.mark.promise("AAU-026", "AAU-027")
def test_the_batch_script_runs_as_printed(cloud: Testbed, front: Terminal) -> None:
    script = """#!/usr/bin/env bash
#SBATCH --job-name MySlurmJob
#SBATCH --partition batch # equivalent to PBS batch
#SBATCH --time 24:00:00 # Run 24 hours
##SBATCH --gres=gpu:1 # commented out
#SBATCH --qos=normal # examples short, normal, 1gpulong, allgpus
srun echo hello world from sbatch on node $SLURM_NODELIST
"""
    cloud.out(PILOT, "rm -f slurm-*.out; cat > jobscript.sh", ME, script)
    job = re.search(r"Submitted batch job (\d+)", front.type("sbatch jobscript.sh"))
    assert job
    ended = cloud.wait_for(job[1], "COMPLETED")
    assert ended["JobName"] == "MySlurmJob"
    assert "gpu" not in ended["AllocTRES"]
    hello = r"hello world from sbatch on node nv-ai-0\d"
    until(lambda: re.fullmatch(hello, cloud.run(PILOT, f"cat slurm-{job[1]}.out", ME).stdout.strip()), "it says hello")


@pytest.mark.promise("AAU-028", "AAU-029")
def test_looking_things_up_and_cancelling(cloud: Testbed, front: Terminal) -> None:
    job = cloud.submit(ME, "--gres=gpu:1")
    cloud.wait_for(job, "RUNNING")
    assert re.search(r"batch\*? +up .* nv-ai-0", front.type("sinfo"))
    assert re.search(rf" {job} +batch +wrap", front.type("squeue"))
    assert f"NodeName={NODE}" in front.type("scontrol show node")
    assert "(IDX:0)" in front.type(f"scontrol -d show job {job}")
    front.type(f"scancel {job}")
    cloud.wait_for(job, "CANCELLED")


@pytest.mark.promise("AAU-030", "AAU-031", "AAU-061")
def test_accounting_commands(cloud: Testbed, front: Terminal) -> None:
    job = cloud.submit(ME, "--gres=gpu:1", "true")
    cloud.wait_for(job, "COMPLETED")
    fields = "User,JobID,Jobname,partition,state%30,time,start,end,elapsed,qos,ReqMem,AllocGRES"
    line = f"sacct -j {job} --format={fields}"
    until(lambda: "COMPLETED" in cloud.out(PILOT, line, ME), "slurmdbd knows of the end")
    said = front.type(line)
    assert re.search(r"normal +10000M +\S*gres/gpu=1", said), said
    assert "gres/gpu" in front.type('sreport -tminper cluster utilization --tres="gres/gpu" start=9/01/20')


@pytest.mark.promise("AAU-035")
def test_arrays_and_dependencies(cloud: Testbed, front: Terminal) -> None:
    array = cloud.out(PILOT, "rm -f task-*; sbatch --parsable --array=1-3 -o task-%A_%a --wrap hostname", ME)
    after = cloud.submit(ME, f"--dependency=afterok:{array}", "true")
    cloud.wait_for(after, "COMPLETED")
    assert cloud.out(PILOT, "ls task-*", ME).split() == [f"task-{array}_{number}" for number in (1, 2, 3)]


# Tools


@pytest.mark.promise("AAU-052")
def test_the_use_of_a_jobs_gpus_is_seen_from_the_front_end(cloud: Testbed, front: Terminal) -> None:
    job = cloud.submit(ME, "--gres=gpu:1")
    cloud.wait_for(job, "RUNNING")
    assert "0" in front.type(f"getUtilByJobId.sh {job}")


@pytest.mark.promise("AAU-054")
def test_raid_is_a_disk_of_each_node(cloud: Testbed, front: Terminal) -> None:
    for node in (NODE, OTHER_NODE):
        cloud.out(PILOT, f"srun -w {node} sh -c 'mkdir -p /raid/u1 && hostname > /raid/u1/where'", ME)
    seen = {cloud.out(PILOT, f"srun -w {node} cat /raid/u1/where", ME) for node in (NODE, OTHER_NODE)}
    assert seen == {NODE, OTHER_NODE}
    assert cloud.run(PILOT, "ls /raid", ME).returncode
