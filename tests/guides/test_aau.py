"""The slides of AAU AI Cloud, in their order: a user's commands as printed there, and their results.

If the guide's own line does not work, it is typed as printed and shown to fail, and then in the form that works.
Singularity's chapter is in test_aau_singularity.py.
"""

import re
from collections.abc import Iterator

import pytest
from pace import until

from tests.guides.aau import COLLEAGUE, ME, NEWCOMER, NODE, OTHER_NODE, PILOT, long_name
from tests.guides.deployed import Deployed
from tests.guides.terminal import Terminal
from tests.testbed.cluster import Testbed

NODES = (NODE, OTHER_NODE)
GATEWAY = "sshgw"
#: The storage node also plays a user's laptop: the rest of the cluster does not use its network.
LAPTOP, LAPTOPS = "storage", r"# \Z"
ADDRESS = "192.0.2.7"  # of the network for documentation, RFC 5737: not assigned to any host
PASSCODE = "corr3ct-Horse-9"
RELINQUISHED = r"Relinquishing job allocation[\s\S]*\$ \Z"


def allocate(front: Terminal) -> None:
    """Type the guide's salloc, and return at its shell's prompt."""
    front.type(f"salloc --time=20:00 --nodelist={NODE}.srv.aau.dk", "are ready for job")
    front.wait_for_salloc()


# Background


def used(cloud: Testbed, account: str, user: str = "") -> tuple[int, float]:
    """Return the usage in CPU seconds and the fair share of an account, or of a user in it, in sshare."""
    rows = cloud.out(PILOT, f"sshare -anP -A {account} -o account,user,rawusage,fairshare").splitlines()
    usage, share = next(row.split("|")[2:] for row in rows if row.strip().startswith(f"{account}|{user}|"))
    return int(usage), float(share or 0)


@pytest.mark.promise("AAU-002")
def test_a_department_with_much_usage_has_a_lower_priority(cloud: Testbed, front: Terminal) -> None:
    """The usage of a group counts for its department: a colleague in `es` who never ran a job waits behind `cs`."""
    cloud.out(PILOT, "sacctmgr -i modify account cs,es,es.shj set RawUsage=0")
    until(lambda: used(cloud, "es")[0] == 0, "the usage of before is forgotten")
    much = cloud.submit(ME, "-c 14 --gres=gpu:1", "sleep 10")
    assert "billing=20" in cloud.wait_for(much, "COMPLETED")["AllocTRES"], "a GPU counts as much as six CPUs"
    recorded = f"sacct -nXP -j {much} -o Account,CPUTimeRAW"
    until(lambda: re.fullmatch(r"es\.shj\|1\d\d", cloud.out(PILOT, recorded)), "slurmdbd has what was used")

    def behind() -> bool:
        shares = [used(cloud, *whose)[1] for whose in (("cs", COLLEAGUE), ("es", NEWCOMER), ("es.shj", ME))]
        return used(cloud, "es")[0] >= 180 > used(cloud, "cs")[0] and shares == sorted(set(shares), reverse=True)

    until(behind, "the shares are counted anew", lambda: cloud.out(PILOT, "sshare -a"))
    whole = f"-w {long_name(NODE)} --mem=0"
    holds = cloud.submit(ME, whole)
    cloud.wait_for(holds, "RUNNING")
    jobs = {user: cloud.submit(user, whole, "sleep 2") for user in (ME, NEWCOMER, COLLEAGUE)}
    shown = front.type("sprio")
    priorities = [int(re.search(rf" {jobs[user]} \S+ +(\d+)", shown)[1]) for user in (COLLEAGUE, NEWCOMER, ME)]  # type: ignore[index]
    assert priorities == sorted(set(priorities), reverse=True)
    cloud.out(PILOT, f"scancel {holds}")
    started = {cloud.wait_for(job, "COMPLETED")["StartTime"]: user for user, job in jobs.items()}
    assert [started[time] for time in sorted(started)] == [COLLEAGUE, NEWCOMER, ME]


@pytest.mark.promise("AAU-006", "AAU-016")
def test_a_home_is_closed_to_others(cloud: Testbed) -> None:
    cloud.out(PILOT, "echo mine > ~/mine && chmod 644 ~/mine", ME)
    home = cloud.out(PILOT, "echo ~", ME)
    assert home == "/user/student.aau.dk/u1"
    assert cloud.out(PILOT, f"stat -c '%U %G %a' {home}") == f"{ME} es.shj 700"
    for command in (f"cat {home}/mine", f"srun -w {long_name(NODE)} cat {home}/mine"):
        assert cloud.out(PILOT, command, ME) == "mine"
        assert "Permission denied" in cloud.run(PILOT, command, COLLEAGUE).stderr


# Getting started


@pytest.fixture
def passcodes(cloud: Testbed) -> Iterator[None]:
    """A password on the gateway and on the front-end in place of the user's passcode, which the site would issue."""
    for node in (GATEWAY, PILOT):
        cloud.out(node, "chpasswd", text=f"{ME}:{PASSCODE}\n")
    yield
    for node in (GATEWAY, PILOT):
        cloud.out(node, f"usermod -p '!' {ME}")


@pytest.fixture
def laptop(cloud: Testbed, passcodes: None) -> Iterator[Terminal]:
    """A machine of the user inside the network; it has a file, and no key."""
    cloud.out(LAPTOP, "mkdir -p ~/Download && echo mine > ~/Download/testfile")
    with Terminal(cloud, LAPTOP, "root", prompt=LAPTOPS) as terminal:
        yield terminal
    cloud.out(LAPTOP, "rm -r ~/Download; rm -f ~/.ssh/known_hosts")


@pytest.fixture
def outside(cloud: Testbed, laptop: Terminal) -> Iterator[Terminal]:
    """The same machine with an address of another network."""
    way = cloud.cluster.nodes[LAPTOP].address
    inside = {node: cloud.cluster.nodes[node].address for node in (GATEWAY, PILOT, *NODES)}
    cloud.out(LAPTOP, f"ip addr add {ADDRESS}/32 dev lo")
    for node, address in inside.items():
        cloud.out(node, f"ip route add {ADDRESS}/32 via {way}")
        cloud.out(LAPTOP, f"ip route add {address}/32 dev eth0 src {ADDRESS}")
    yield laptop
    for node, address in inside.items():
        cloud.out(node, f"ip route del {ADDRESS}/32")
        cloud.out(LAPTOP, f"ip route del {address}/32")
    cloud.out(LAPTOP, f"ip addr del {ADDRESS}/32 dev lo")


@pytest.mark.promise("AAU-012", "AAU-016")
def test_inside_the_network_users_log_in_in_one_step(cloud: Testbed, laptop: Terminal) -> None:
    laptop.type(f"ssh {ME}@ai-pilot.srv.aau.dk", r"password: \Z")
    assert f"{ME}@{PILOT}:~$ " in laptop.type(PASSCODE)
    assert ME in laptop.type("srun whoami").splitlines()


@pytest.mark.promise("AAU-013")
def test_outside_the_network_users_log_in_in_two_steps(cloud: Testbed, outside: Terminal) -> None:
    for node in (PILOT, *NODES):
        assert "Connection refused" in outside.type(f"ssh {node}.srv.aau.dk -l {ME}", LAPTOPS)
    outside.type(f"ssh sshgw.aau.dk -l {ME}", r"password: \Z")
    assert f"{ME}@{GATEWAY}:~$ " in outside.type(PASSCODE)
    for node in NODES:
        assert "Connection refused" in outside.type(f"ssh {node}.srv.aau.dk -l {ME}"), "the gateway leads to one node"
    outside.type(f"ssh ai-pilot.srv.aau.dk -l {ME}", r"password: \Z")
    assert f"{ME}@{PILOT}:~$ " in outside.type(PASSCODE)
    assert ME in outside.type("srun whoami").splitlines()


@pytest.mark.promise("AAU-015")
def test_a_tunnel_through_the_gateway_reaches_the_front_end_only(cloud: Testbed, outside: Terminal) -> None:
    cloud.out(PILOT, "rm -f ~/testfile", ME)
    outside.type(f"ssh -L 2022:ai-pilot.srv.aau.dk:22\\\n  -l {ME} sshgw.aau.dk", r"password: \Z")
    outside.type(PASSCODE)
    with Terminal(cloud, LAPTOP, "root", prompt=LAPTOPS) as second:
        second.type(f"scp -P 2022 ~/Download/testfile {ME}@localhost:~/", r"\(yes/no/\[fingerprint\]\)\? \Z")
        second.type("yes", r"password: \Z")
        assert "100%" in second.type(PASSCODE, LAPTOPS)
        assert cloud.out(PILOT, "cat ~/testfile", ME) == "mine"
        second.type(f"ssh -J {ME}@sshgw.aau.dk {ME}@ai-pilot.srv.aau.dk", r"password: \Z")
        second.type(PASSCODE, r"ai-pilot\.srv\.aau\.dk's password: \Z")
        assert f"{ME}@{PILOT}:~$ " in second.type(PASSCODE)
        second.type("exit", LAPTOPS)
        second.type(f"ssh -J {ME}@sshgw.aau.dk {ME}@{NODE}.srv.aau.dk", r"password: \Z")
        assert "administratively prohibited" in second.type(PASSCODE, LAPTOPS)


@pytest.mark.promise("AAU-010", "AAU-011", "AAU-068")
def test_shells_are_available_and_sessions_survive_a_disconnect(cloud: Testbed, front: Terminal) -> None:
    assert cloud.out(PILOT, "echo $SHELL", ME) == "/bin/bash"
    for command in ("zsh --version", "byobu --version", "screen -v", "tmux -V"):
        cloud.out(PILOT, command, ME)
    front.type("tmux new-session -d -s mine 'srun --time=20:00 sleep 600'")
    front.press_ctrl_d("logout")
    assert "mine:" in cloud.out(PILOT, "tmux list-sessions", ME), "another log-in finds it"
    until(lambda: cloud.out(PILOT, "squeue -h -o %t", ME) == "R", "the job in it runs")
    cloud.out(PILOT, "tmux kill-session -t mine", ME)
    until(lambda: not cloud.out(PILOT, "squeue -h"), "the job ends with it")


# Slurm


@pytest.mark.promise("AAU-017")
def test_memory_and_time_are_managed(cloud: Testbed, front: Terminal) -> None:
    killed = cloud.out(PILOT, "sbatch --parsable -o /dev/null --time=20:00 --mem=64M --wrap 'tail /dev/zero'", ME)
    cloud.wait_for(killed, "OUT_OF_MEMORY")
    runs = cloud.submit(ME, "--time=20:00 -c 2 --gres=gpu:1 --mem=1G")
    tres = cloud.wait_for(runs, "RUNNING")["AllocTRES"].split(",")
    assert {"cpu=2", "mem=1G", "node=1", "gres/gpu=1"} <= set(tres)
    assert cloud.job(runs)["TimeLimit"] == "00:20:00"


@pytest.mark.promise("AAU-021", "AAU-022", "AAU-036")
def test_the_commands_and_their_pages(cloud: Testbed, front: Terminal) -> None:
    for command in ("sbatch", "salloc", "srun", "scancel", "squeue", "sinfo", "scontrol", "sprio"):
        assert "slurm" in cloud.out(PILOT, f"{command} --version", ME)
    assert "priority/multifactor" in cloud.out(PILOT, "scontrol show config | grep ^PriorityType", ME)
    assert "scontrol" in cloud.out(PILOT, "man scontrol | head -n 5", ME)


@pytest.mark.promise("AAU-023", "AAU-025", "AAU-064")
def test_srun_gives_a_shell_on_a_node_and_salloc_one_on_the_front_end(cloud: Testbed, front: Terminal) -> None:
    assert re.search(r"@nv-ai-0\d:~\$ \Z", front.type("srun --pty --time=20:00 bash -l"))
    job = cloud.job(cloud.out(PILOT, "squeue -h -o %A"))
    assert (job["TimeLimit"], job["Partition"], job["QOS"], job["Account"]) == ("00:20:00", "batch", "normal", "es.shj")
    front.type("exit")
    allocate(front)
    assert PILOT in front.type("hostname").splitlines()
    front.type("exit", RELINQUISHED)


@pytest.mark.promise("AAU-024", "AAU-050")
def test_ssh_into_a_node_needs_a_job_there(cloud: Testbed, front: Terminal) -> None:
    line = f"ssh {NODE}.srv.aau.dk"
    assert "Access denied by pam_slurm_adopt: you have no active jobs on this node" in front.type(line)
    allocate(front)
    assert f"@{NODE}:" in front.type(line)
    job = cloud.out(PILOT, "squeue -h -o %A")
    assert f"job_{job}/" in front.type("cat /proc/self/cgroup"), "the session is part of the job"
    front.type(f"top -u {ME}", r"load average")
    front.type("q")
    assert re.search(rf"{ME}\s+\d+", front.type("smem -u -k"))
    front.type("exit")
    assert "no active jobs" in front.type(f"ssh {OTHER_NODE}.srv.aau.dk"), "the job is on another node"
    front.type("exit", RELINQUISHED)
    until(lambda: "no active jobs" in front.type(line), "no user gets in after the job")


@pytest.mark.promise("AAU-026", "AAU-027", "AAU-063")
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
    assert (ended["JobName"], ended["TimeLimit"], ended["QOS"]) == ("MySlurmJob", "1-00:00:00", "normal")
    assert "gpu" not in ended["AllocTRES"]
    hello = r"hello world from sbatch on node nv-ai-0\d\.srv\.aau\.dk"
    until(lambda: re.fullmatch(hello, cloud.run(PILOT, f"cat slurm-{job[1]}.out", ME).stdout.strip()), "it says hello")


@pytest.mark.promise("AAU-028", "AAU-029")
def test_jobs_are_looked_up_and_cancelled(cloud: Testbed, front: Terminal) -> None:
    job = cloud.submit(ME, "--gres=gpu:1")
    cloud.wait_for(job, "RUNNING")
    assert re.search(r"batch\* +up .* nv-ai-0", front.type("sinfo"))
    assert re.search(rf" {job} +batch +wrap +u1@stude +R ", front.type("squeue"))
    assert f"NodeName={NODE}" in front.type("scontrol show node")
    assert "(IDX:0)" in front.type(f"scontrol -d show job {job}")
    front.type(f"scancel {job}")
    cloud.wait_for(job, "CANCELLED")


@pytest.mark.promise("AAU-030", "AAU-061")
def test_sacct_knows_the_fields_of_the_guide(cloud: Testbed, front: Terminal) -> None:
    """As printed, the second line begins with a blank, and sacct takes it for a separate argument."""
    job = cloud.submit(ME, "--gres=gpu:1", "true")
    cloud.wait_for(job, "COMPLETED")
    first, second = "User,JobID,Jobname,partition,", "state%30,time,start,end,elapsed,qos,ReqMem,AllocGRES"
    assert "Unknown arguments" in front.type(f"sacct -j {job} --format={first}\\\n  {second}")
    line = f"sacct -j {job} --format={first}{second}"
    until(lambda: "COMPLETED" in cloud.out(PILOT, line, ME), "slurmdbd knows of the end")
    assert re.search(r"normal +10000M +\S*gres/gpu=1", front.type(line))
    assert "AllocGRES has been removed, please use AllocTRES" in front.type(f"/usr/bin/{line}"), "by Slurm's own"


#: Turns a current job in slurmdbd into one of two hours, days ago, on a cluster that is older than that: reports end
#: with the day before. $1 the job.
AGED = """
tables=aicloud day=86400
mariadb slurm_acct_db <<END
update ${tables}_event_table set time_start = time_start - 3 * $day where node_name = '';
update ${tables}_last_ran_table set hourly_rollup = hourly_rollup - 3 * $day, daily_rollup = daily_rollup - 3 * $day;
update ${tables}_job_table set time_submit = time_submit - 2 * $day, time_eligible = time_submit,
  time_start = time_submit, time_end = time_submit + 7200 where id_job = $1;
END
systemctl restart slurmdbd
"""


@pytest.mark.promise("AAU-031")
def test_sreport_counts_the_minutes_of_gpus(cloud: Testbed, front: Terminal) -> None:
    job = cloud.submit(ME, "--gres=gpu:1", "true")
    cloud.wait_for(job, "COMPLETED")
    until(lambda: "COMPLETED" in cloud.out(PILOT, f"sacct -nX -j {job} -o state"), "slurmdbd knows of the end")
    cloud.out(PILOT, f"sh -s {job}", text=AGED)
    line = 'sreport -tminper cluster utilization --tres="gres/gpu" start=9/01/20'
    until(lambda: re.search("aicloud +gres/gpu", cloud.run(PILOT, line, ME).stdout), "slurmdbd has added it up")
    # allocated minutes: two hours of one GPU of 32
    minutes = re.search(r"aicloud +gres/gpu +(\d+)\(", front.type(line.replace("start", "\\\n  start")))
    assert minutes
    assert int(minutes[1]) >= 120


@pytest.mark.promise("AAU-018", "AAU-032", "AAU-033")
def test_accounts_and_qos_are_shown_by_sacctmgr(cloud: Testbed, front: Terminal) -> None:
    parents = cloud.out(PILOT, "sacctmgr -nP show account withassoc format=account,parentname", ME).splitlines()
    assert {"cs|root", "es|root", "es.shj|es"} <= set(parents)
    shown = front.type("sacctmgr show qos format=name,priority,maxtresperuser%20,MaxWall")
    for row in (
        r"normal +40 +cpu=20,gres/gpu=1 +2-00:00:00",
        r"short +50 +cpu=32,gres/gpu=4 +00:20:00",
        r"1gpulong +30 +cpu=16,gres/gpu=1 +14-00:00:00",
        r"allgpus +20 +cpu=48,gres/gpu=8 +21-00:00:00",
    ):
        assert re.search(row, shown), shown
    shown = front.type("sacctmgr show assoc format=account,user%30,qos%40")
    assert re.search(rf"es\.shj +{re.escape(ME)} +normal,short", shown), shown
    assert re.search(rf"cs +{re.escape(COLLEAGUE)} +\S*allgpus", shown), shown


@pytest.mark.promise("AAU-019", "AAU-020")
def test_a_qos_is_a_limit_and_some_must_be_granted(cloud: Testbed, front: Terminal) -> None:
    for qos in ("1gpulong", "allgpus"):
        assert "Invalid qos specification" in front.type(f"srun --qos={qos} true")
    many = "QOSMaxGRESPerUser"
    for options, why in (
        ("--gres=gpu:2", many),
        ("--qos=short --gres=gpu:5", many),
        ("--qos=short --time=30:00", "time limit"),
        ("--time=3-0", "time limit"),
    ):
        assert why in front.type(f"srun {options} true"), options
    assert "all" in front.type("srun --qos=short --gres=gpu:4 echo all").split()
    for options in ("--qos=1gpulong --gres=gpu:1 --time=14-0", "--qos=allgpus --gres=gpu:8 --time=21-0"):
        assert cloud.out(PILOT, f"srun {options} echo all", COLLEAGUE) == "all"


@pytest.mark.promise("AAU-034")
def test_a_user_with_a_deadline_has_the_granted_qos(cloud: Testbed, front: Terminal) -> None:
    assert cloud.out(PILOT, "srun --qos=deadline --gres=gpu:2 echo all", COLLEAGUE) == "all"
    assert "Invalid qos specification" in front.type("srun --qos=deadline true")


@pytest.mark.promise("AAU-035")
def test_arrays_and_dependencies(cloud: Testbed, front: Terminal) -> None:
    array = cloud.out(PILOT, "rm -f task-*; sbatch --parsable --array=1-3 -o task-%A_%a --wrap hostname", ME)
    after = cloud.submit(ME, f"--dependency=afterok:{array}", "true")
    cloud.wait_for(after, "COMPLETED")
    tasks = [f"task-{array}_{number}" for number in (1, 2, 3)]
    until(lambda: cloud.out(PILOT, "ls task-* || :", ME).split() == tasks, "each task has written its file")


# Tools, tips and tricks


#: Prints the same for each requested GPU as NVIDIA's program, but only once: there is no driver.
NVIDIA_SMI = """#!/bin/sh
echo 'index, timestamp, utilization.gpu [%]'
echo '0, 2026/11/23 08:00:00.000, 97 %'
"""


@pytest.fixture
def nvidia_smi(cloud: Testbed) -> Iterator[None]:
    """A stand-in for the driver's program on the nodes."""
    for node in NODES:
        cloud.out(node, "cat > /usr/local/bin/nvidia-smi && chmod 755 /usr/local/bin/nvidia-smi", text=NVIDIA_SMI)
    yield
    for node in NODES:
        cloud.out(node, "rm /usr/local/bin/nvidia-smi")


@pytest.mark.promise("AAU-052")
@pytest.mark.usefixtures("nvidia_smi")
def test_the_use_of_a_jobs_gpus_is_shown_on_the_front_end(cloud: Testbed, front: Terminal) -> None:
    job = cloud.submit(ME, "--gres=gpu:1")
    cloud.wait_for(job, "RUNNING")
    shown = front.type(f"getUtilByJobId.sh {job}", r"97 %[\s\S]*97 %")
    assert "every 5 s, until you press Ctrl-C" in shown
    assert "index, timestamp, utilization.gpu [%]" in shown
    front.press_ctrl_c()
    assert cloud.job(job)["JobState"] == "RUNNING"
    assert "you can only look at your own jobs" in cloud.run(PILOT, f"getUtilByJobId.sh {job}", COLLEAGUE).stderr


@pytest.mark.promise("AAU-054")
def test_raid_is_a_local_disk_of_each_node(cloud: Testbed, front: Terminal) -> None:
    for node in NODES:
        cloud.out(PILOT, f"srun -w {long_name(node)} sh -c 'mkdir -p /raid/u1 && hostname > /raid/u1/where'", ME)
    for node in NODES:
        assert cloud.out(PILOT, f"srun -w {long_name(node)} cat /raid/u1/where", ME) == node
    cache = cloud.out(PILOT, "srun bash -lc 'echo $APPTAINER_CACHEDIR'", ME)
    assert cache == "/raid/u1/.singularity/cache", "Singularity uses it, too"
    assert cloud.run(PILOT, "ls /raid", ME).returncode


@pytest.mark.promise("AAU-055")
def test_a_job_with_a_gpu_may_wait_for_memory(cloud: Testbed, front: Terminal) -> None:
    """The guide's `--mem=64G` helps a job that needs more memory; a job that waits for memory needs a smaller one."""
    left = 5000
    for node in NODES:
        memory = cloud.cluster.nodes[node].memory
        known = int(cloud.out(PILOT, f"scontrol -o show node {long_name(node)} | grep -oP 'RealMemory=\\K\\d+'"))
        assert known <= memory
        cloud.wait_for(cloud.submit(COLLEAGUE, f"-w {long_name(node)} --mem={known - left}M"), "RUNNING")
    job = cloud.submit(ME, "--gres=gpu:1")
    cloud.wait_for(job, "PENDING", "Resources")
    assert re.search(r"mem=10000M,\S*gres/gpu=1", front.type(f"scontrol show job {job}"))
    assert re.search(rf" {job} .* PD .*\(Resources\)", front.type("squeue"))
    front.type(f"scancel {job}")
    larger = cloud.submit(ME, "--gres=gpu:1 --mem=64G")
    cloud.wait_for(larger, "PENDING", "Resources")
    front.type(f"scancel {larger}")
    smaller = cloud.submit(ME, "--gres=gpu:1 --mem=4G")
    cloud.wait_for(smaller, "RUNNING")
    cloud.end_jobs()
    larger = cloud.submit(ME, "--gres=gpu:1 --mem=64G")
    assert "mem=64G" in cloud.wait_for(larger, "RUNNING")["AllocTRES"]


# The cluster itself


class TestDeployedCluster(Deployed):
    @pytest.fixture
    def testbed(self, cloud: Testbed) -> Testbed:
        return cloud
