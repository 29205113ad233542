"""The pooled model as users see it: requests, limits, preemption. Names of promises: docs/requirements-status.md."""

import re

import pytest
from pace import until

from tests.testbed.cluster import Testbed

PROBE = r"""
for gpu in /dev/nvidia[0-9]*; do
  said=$( { exec 3<"$gpu"; } 2>&1 ) || true
  case $said in
    *"No such device"*) echo "ENXIO $gpu";;
    *"not permitted"*) echo "EPERM $gpu";;
    *) echo "? $gpu $said";;
  esac
done
"""


def devices(testbed: Testbed, user: str, options: str) -> tuple[int, int]:
    """Return how many of the node's GPUs a job can open, and how many are refused."""
    words = testbed.out("sky1", f"srun {options} bash -s", user, PROBE).splitlines()
    assert all(re.match(r"(ENXIO|EPERM) ", word) for word in words), words
    return sum(word.startswith("ENXIO") for word in words), sum(word.startswith("EPERM") for word in words)


@pytest.mark.promise("SKY-177", "SKY-147", "SKY-148")
def test_a_job_opens_its_own_gpus_and_no_others(idle: Testbed) -> None:
    assert devices(idle, "u-kira1", "-w clippy --gres gpu:3 -p debug") == (3, 5)


@pytest.mark.promise("SKY-177")
def test_two_jobs_on_one_node_have_different_gpus(idle: Testbed) -> None:
    idle.wait_for(idle.submit("u-hays1", "-w clippy --gres=gpu:2 -p short"), "RUNNING")
    output = idle.out("sky1", "srun -w clippy --gres gpu:2 -p short bash -s", "u-kira1", PROBE)
    mine = [line.split()[1] for line in output.splitlines() if line.startswith("ENXIO")]
    assert mine == ["/dev/nvidia2", "/dev/nvidia3"]


@pytest.mark.promise("SKY-146")
def test_a_job_without_gres_gets_no_gpu(idle: Testbed) -> None:
    assert devices(idle, "u-kira1", "-w a40-01") == (0, 8)
    assert idle.out("sky1", "srun -w a40-01 sh -c 'echo ${CUDA_VISIBLE_DEVICES-unset}'", "u-kira1") == "unset"


@pytest.mark.promise("SKY-141", "SKY-145")
def test_one_logical_cpu_is_the_default(idle: Testbed) -> None:
    assert idle.out("sky1", "srun sh -c 'echo $SLURM_CPUS_ON_NODE'", "u-kira1") == "1"
    assert idle.out("marvin", "scontrol -o show node clippy | grep -o CPUTot=[0-9]*") == "CPUTot=56"


@pytest.mark.promise("SKY-132", "SKY-144")
def test_the_cpus_of_a_gpu_fit_eight_times(idle: Testbed) -> None:
    jobs = [idle.submit(f"u-kira{n % 2 + 1}", "-p overcap -A overcap -w a40-01 --gpus a40:1 -c 15") for n in range(8)]
    jobs += [idle.submit("u-hays1", "-p overcap -A overcap -w clippy --gpus rtx_6000:1 -c 7") for _ in range(8)]
    for job in jobs:
        assert idle.wait_for(job, "RUNNING")["NumNodes"] == "1"


@pytest.mark.promise("SKY-006", "SKY-007", "SKY-101")
def test_both_heads_submit_and_run_no_jobs(idle: Testbed) -> None:
    for head in ("sky1", "sky2"):
        assert "Submitted batch job" in idle.out(head, "sbatch -o /dev/null --wrap hostname", "u-kira1")
        assert idle.run(head, "pgrep -x slurmd").returncode == 1
    assert not {"sky1", "sky2"} & set(idle.out("marvin", "sinfo -h -N -o %N").split())


@pytest.mark.promise("SKY-034", "SKY-107", "SKY-036")
def test_a_lab_reaches_its_cap_and_not_one_gpu_more(idle: Testbed) -> None:
    cap = idle.cluster.accounts["kira-lab"].limits.group.gpu or 0
    jobs = [idle.submit("u-kira1", "-p kira-lab --gres=gpu:1") for _ in range(cap)]
    for job in jobs:
        idle.wait_for(job, "RUNNING")
    waits = idle.submit("u-kira2", "-p short --gres=gpu:1")
    idle.wait_for(waits, "PENDING", "AssocGrpGRES")
    other = idle.submit("u-hays1", "-p short --gres=gpu:1")
    idle.wait_for(other, "RUNNING")
    idle.out("marvin", f"scancel {jobs[0]}")
    idle.wait_for(waits, "RUNNING")


@pytest.mark.promise("SKY-102", "SKY-187")
def test_a_lab_partition_admits_its_members_only(idle: Testbed) -> None:
    assert idle.out("sky1", "srun -p kira-lab hostname", "u-kira1")
    refused = idle.run("sky1", "srun -p kira-lab hostname", "u-hays1")
    assert refused.returncode
    assert "Invalid account or account/partition combination" in refused.stderr


@pytest.mark.promise("SKY-119", "SKY-120", "SKY-032")
def test_overcap_needs_its_account_and_lets_no_user_exceed_a_cap(idle: Testbed) -> None:
    assert idle.out("sky1", "srun -p overcap -A overcap --gres=gpu:1 hostname", "u-kira1")
    for words in ("-p overcap", "-p short -A overcap", "-p kira-lab -A overcap", "-p debug -A overcap"):
        refused = idle.run("sky1", f"srun {words} hostname", "u-kira1")
        assert "Invalid account or account/partition combination" in refused.stderr, words


@pytest.mark.promise("SKY-036", "SKY-119", "SKY-121", "SKY-123", "SKY-107")
def test_an_overcap_job_is_requeued_for_an_owner(idle: Testbed) -> None:
    gpus = idle.cluster.total_gpus
    array = idle.submit("u-hays1", f"--requeue -p overcap -A overcap --gres=gpu:1 --array=1-{gpus}")
    running = f"squeue -h -r -j {array} -t R | wc -l"
    until(lambda: idle.out("marvin", running) == str(gpus), "overcap jobs fill the pool")
    idle.out("sky1", "rm -f ended", "u-kira1")
    own = idle.submit("u-kira1", "-p kira-lab --gres=gpu:2 --qos=short", "until [ -e ended ]; do sleep 0.2; done")
    idle.wait_for(own, "RUNNING")
    assert idle.out("marvin", running) == str(gpus - 2)
    idle.out("sky1", "touch ended", "u-kira1")
    idle.wait_for(own, "COMPLETED")
    until(lambda: idle.out("marvin", running) == str(gpus), "the evicted jobs run again")
    restarts = idle.out("marvin", f"scontrol -o show job {array} | grep -o Restarts=[0-9]*").split()
    assert sorted(restarts) == ["Restarts=0"] * (gpus - 2) + ["Restarts=1"] * 2


@pytest.mark.promise("SKY-127", "SKY-128")
def test_user_overcap_preempts_overcap_and_counts_against_the_cap(idle: Testbed) -> None:
    gpus = idle.cluster.total_gpus
    cap = idle.cluster.accounts["kira-lab"].limits.group.gpu or 0
    array = idle.submit("u-hays1", f"--requeue -p overcap -A overcap --gres=gpu:1 --array=1-{gpus}")
    running = f"squeue -h -r -j {array} -t R | wc -l"
    until(lambda: idle.out("marvin", running) == str(gpus), "overcap jobs fill the pool")
    idle.wait_for(idle.submit("u-kira1", f"-p user-overcap --gres=gpu:{cap}"), "RUNNING")
    idle.wait_for(idle.submit("u-kira2", "-p user-overcap --gres=gpu:1"), "PENDING", "AssocGrpGRES")


@pytest.mark.promise("SKY-153", "SKY-207")
def test_debug_gives_each_user_five_gpus(idle: Testbed) -> None:
    # the account for overcap is refused in debug, so a lab with a cap above five is needed
    assert (idle.cluster.accounts["cvmlp-lab"].limits.group.gpu or 0) > 5
    jobs = [idle.submit("u-cvmlp1", "-p debug --gres=gpu:1") for _ in range(5)]
    for job in jobs:
        idle.wait_for(job, "RUNNING")
    idle.wait_for(idle.submit("u-cvmlp1", "-p debug --gres=gpu:1"), "PENDING", "QOSMaxGRESPerUser")
    idle.wait_for(idle.submit("u-cvmlp2", "-p debug --gres=gpu:1"), "RUNNING")


@pytest.mark.promise("SKY-124", "SKY-153", "SKY-154", "SKY-155", "SKY-187")
@pytest.mark.parametrize(
    ("partition", "limit", "over"),
    [
        ("debug", "04:00:00", "5:00:00"),
        ("short", "2-00:00:00", "3-0"),
        ("long", "7-00:00:00", "8-0"),
        ("kira-lab", "7-00:00:00", "8-0"),
        ("user-overcap", "2-00:00:00", "3-0"),
        ("overcap -A overcap", "2-00:00:00", "3-0"),
    ],
)
def test_each_partition_has_its_time_limit(idle: Testbed, partition: str, limit: str, over: str) -> None:
    job = idle.submit("u-kira1", f"-H -p {partition}")
    assert idle.job(job)["TimeLimit"] == limit
    refused = idle.run("sky1", f"sbatch -p {partition} -t {over} -o /dev/null --wrap hostname", "u-kira1")
    assert refused.returncode
    assert "time limit" in refused.stderr.lower()


@pytest.mark.promise("SKY-103")
@pytest.mark.parametrize(("qos", "limit"), [("short", "2-00:00:00"), ("long", "7-00:00:00"), ("debug", "04:00:00")])
def test_a_qos_sets_the_time_limit_in_a_lab_partition(idle: Testbed, qos: str, limit: str) -> None:
    assert idle.job(idle.submit("u-kira1", f"-H -p kira-lab --qos={qos}"))["TimeLimit"] == limit


@pytest.mark.promise("SKY-116", "SKY-030", "SKY-031")
def test_the_usage_utilities_show_each_labs_cap(idle: Testbed) -> None:
    lines = idle.out("sky1", "sacctmgr -nop show assoc format=account,user,grptres", "u-kira1").splitlines()
    caps = {line.split("|")[0]: line.split("|")[2] for line in lines if line.split("|")[1] == ""}
    for account in idle.cluster.accounts.values():
        if account.entry.kind == "lab":
            group = account.limits.group
            assert group.cpu
            assert {f"cpu={group.cpu}", f"gres/gpu={group.gpu}"} <= {*caps[account.name].split(",")}


@pytest.mark.promise("SKY-133", "SKY-134", "SKY-139")
def test_tasks_multiply_cpus_and_gpus(idle: Testbed) -> None:
    output = idle.out(
        "sky1", "srun --ntasks=2 --gpus-per-node=2 --cpus-per-task=7 sh -c 'echo $SLURM_CPUS_ON_NODE'", "u-kira1"
    )
    assert output.split() == ["14", "14"]
    output = idle.out("sky1", "srun --gpus-per-node=2 -c 14 sh -c 'echo $SLURM_NTASKS $SLURM_CPUS_PER_TASK'", "u-kira1")
    assert output == "1 14"
    assert len(idle.out("sky1", "srun -n 2 --gpus-per-task=1 hostname", "u-kira1").split()) == 2


@pytest.mark.promise("SKY-025")
def test_the_guides_exclusion_of_clippy_is_accepted(idle: Testbed) -> None:
    assert (
        idle.out("sky1", "srun --exclude=clippy --constraint='rtx_6000|a40' --gres=gpu:1 hostname", "u-kira1")
        == "a40-01"
    )


@pytest.mark.promise("SKY-148")
def test_an_interactive_shell_starts_as_in_the_guide(idle: Testbed) -> None:
    words = "script -qec 'srun --gres gpu:1 -p debug -J \"test\" --pty bash' /dev/null"
    output = idle.out("sky1", words, "u-kira1", "hostname\nexit\n")
    assert any(node.name in output for node in idle.cluster.having("compute"))


@pytest.mark.promise("SKY-010", "SKY-053")
def test_a_file_written_on_one_node_is_read_on_another(idle: Testbed) -> None:
    idle.out("sky1", "echo hello > ~/shared.txt", "u-kira1")
    assert idle.out("sky1", "srun -w a40-01 cat /nethome/u-kira1/shared.txt", "u-kira1") == "hello"
    idle.out("a40-01", "echo seen > /coc/pskynet3/note; sync")
    assert idle.out("titanx-01", "cat /coc/pskynet3/note") == "seen"
    idle.out("a40-01", "rm /coc/pskynet3/note")


@pytest.mark.promise("SKY-076", "SKY-077", "SKY-078", "SKY-079", "SKY-080", "SKY-081", "SKY-082", "SKY-084")
def test_df_shows_the_guides_mounts(idle: Testbed) -> None:
    lines = [line.split() for line in idle.out("clippy", "df -h | grep coc").splitlines()]
    found = {line[-1]: (line[0], line[1]) for line in lines}
    for path, source, size in (
        ("/coc/pskynet1", "multivac.cc.gatech.edu:/pskynet1", "50T"),
        ("/coc/pskynet2", "multivac.cc.gatech.edu:/pskynet2", "30T"),
        ("/coc/pskynet3", "microvac.cc.gatech.edu:/zfs/microvac-store3/pskynet3", "27T"),
        ("/coc/scratch", "multivac.cc.gatech.edu:/export/scratch", "60T"),
        ("/coc/dataset", "microvac.cc.gatech.edu:/zfs/microvac-store2/dataset", "25T"),
        ("/coc/pskynet4", "galactic-ac.cc.gatech.edu:/zfs/data", "194T"),
        ("/coc/pskynet5", "cosmic-ac.cc.gatech.edu:/zfs/cosmic-ac/project", "70T"),
    ):
        assert found[path] == (source, size)
    assert len(found) == len([mount for mount in idle.cluster.mounts if mount.at.startswith("/coc/")])


@pytest.mark.promise("SKY-085", "SKY-086", "SKY-087", "SKY-159", "SKY-192")
def test_srv_has_the_links_of_both_styles(idle: Testbed) -> None:
    for path, target in {
        "/srv/datasets": "/coc/dataset",
        "/srv/scratch": "/coc/scratch",
        "/srv/share": "/coc/pskynet1",
        "/srv/testing": "/zfs/testshare",
        "/srv/flash1": "/coc/flash1",
        "/srv/hoffman-lab/flash9": "/coc/flash9",
        "/srv/cvmlp-lab/share2": "/coc/pskynet2",
    }.items():
        for node in ("sky1", "clippy"):
            assert idle.out(node, f"readlink {path}; stat -c %U:%G {path}") == f"{target}\nroot:root"


@pytest.mark.promise("SKY-054", "SKY-198")
def test_homes_are_not_mounted_on_fileservers(idle: Testbed) -> None:
    assert idle.run("multivac", "findmnt /nethome").returncode == 1
    assert idle.out("multivac", "getent passwd u-kira1 | cut -d: -f6") == "/home/u-kira1"


@pytest.mark.promise("SKY-001", "SKY-022")
def test_names_and_controllers(idle: Testbed) -> None:
    for node in idle.target.nodes:
        assert idle.out(node.name, "hostname -f") == f"{node.name}.cc.gatech.edu"
        assert len(set(idle.out(node.name, "getent hosts multivac multivac.cc.gatech.edu").split("\n"))) == 1
    assert "Slurmctld(primary) at marvin is UP" in idle.out("sky1", "scontrol ping")
