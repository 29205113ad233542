"""An apply is safe: no job dies from a change of the inventory, and slurmctld never gets a file that it refuses."""

from tests.testbed.cluster import Changed, Testbed, gpupool
from tests.testbed.test_apply import daemons

HOLDERS = ("marvin", "vicki")  # nodes that have slurm.conf as a file


def slurm_files(testbed: Testbed) -> dict[str, str]:
    """Return the checksums of all files in /etc/slurm, by node."""
    return {node: testbed.out(node, "cd /etc/slurm; find . -type f | sort | xargs sha256sum") for node in HOLDERS}


def line_of(name: str, testbed: Testbed) -> str:
    """Return the line of the partitions' file that defines a partition."""
    lines = (testbed.inventory / "partitions.yml").read_text().splitlines(keepends=True)
    (line,) = [line for line in lines if line.startswith(f"  - {{name: {name}, ")]
    return line


def messages_of(testbed: Testbed, command: str, *options: str) -> tuple[int, str]:
    """Plan or apply, and return the exit status and the messages."""
    done = gpupool(command, testbed.inventory, "--on", "testbed", *options, *(["--yes"] if command == "apply" else []))
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout


def test_a_partition_with_jobs_is_kept_until_they_have_ended(idle: Testbed, changed: Changed) -> None:
    runs, waits = idle.submit("u-kira1", "-p long --gres=gpu:1"), idle.submit("u-hays1", "-p long --hold")
    other = idle.submit("u-kira2", "-p short --gres=gpu:1")
    for job in (runs, other):
        idle.wait_for(job, "RUNNING")
    without = changed("partitions.yml", line_of("long", idle), "")
    before, started = slurm_files(idle), daemons(idle)

    status, words = messages_of(without, "plan")
    assert status == 1
    assert f"partition long will be removed: {runs} of u-kira1 is running, {waits} of u-hays1 is pending" in words
    assert "First `scontrol update partitionname=long state=drain`" in words

    idle.out("clippy", "rm /srv/share4")
    status, words = messages_of(without, "apply")
    assert status == 1
    assert "sky1: not changed, because apply would refuse a change of marvin, vicki" in words
    assert "Slurm would end 2 jobs: partition long will be removed" in words
    assert idle.run("clippy", "readlink /srv/share4").returncode, "no node is changed"
    assert slurm_files(idle) == before
    assert daemons(idle) == started
    states = {runs: "RUNNING", waits: "PENDING", other: "RUNNING"}
    assert {job: idle.job(job)["JobState"] for job in states} == states
    assert idle.out("sky1", "srun -p debug hostname", "u-hays1")

    idle.out("marvin", f"scancel {runs} {waits}")
    idle.wait_for(runs, "CANCELLED")
    assert messages_of(without, "apply")[0] == 0
    assert idle.out("clippy", "readlink /srv/share4") == "/coc/pskynet4"
    assert "long" not in idle.out("marvin", "sinfo -h -o %R").split()
    assert idle.job(other)["JobState"] == "RUNNING"


def test_a_job_that_names_the_partition_but_runs_in_another_is_kept_too(idle: Testbed, changed: Changed) -> None:
    """Slurm ends such a job, although squeue shows it in the other partition only: the test asks slurmctld itself."""
    job = idle.submit("u-kira1", "-p short,long --gres=gpu:1")
    assert idle.wait_for(job, "RUNNING")["Partition"] == "short"
    # slurmctld writes its state some seconds after a change, and the trial reads the written state
    spool = idle.cluster.slurm.state
    idle.out("marvin", f"for n in $(seq 20); do grep -aq short,long {spool}/job_state && exit 0; sleep 1; done; exit 1")
    before = slurm_files(idle)
    status, words = messages_of(changed("partitions.yml", line_of("long", idle), ""), "apply")
    assert status == 1
    assert f"slurmctld would end jobs (1): {job} (u-kira1, short" in words
    assert slurm_files(idle) == before
    assert idle.job(job)["JobState"] == "RUNNING"


def test_a_node_with_jobs_keeps_its_place_and_its_hardware(idle: Testbed, changed: Changed) -> None:
    job = idle.submit("u-kira1", "-w titanx-01 --gres=gpu:1")
    idle.wait_for(job, "RUNNING")
    # the totals are checked, so they have to be removed
    changed("cluster.yml", "  totals: {gpus: 284, cpus: 2056, src: L50}\n", "")
    fewer = changed("nodes.yml", "old-16c: {cpus: 32", "old-16c: {cpus: 24")
    status, words = messages_of(fewer, "plan")
    assert status == 1
    assert f"node titanx-01 changes from 32 to 24 CPUs: {job} of u-kira1 is running" in words
    for command in ("plan", "apply"):
        status, words = messages_of(fewer, command, "--limit", "titanx-01")
        assert status == 1
        assert "slurmctld has 32 CPUs and 8 titan_x for this node, and the inventory 24 CPUs and 8 titan_x" in words
    without = changed("testbed.yml", "titanx-01,", "")
    status, words = messages_of(without, "plan")
    assert status == 1
    assert f"node titanx-01 will be removed: {job} of u-kira1 is running" in words
    assert idle.job(job)["JobState"] == "RUNNING"


def test_a_slurm_conf_that_slurmctld_would_refuse_never_reaches_it(idle: Testbed, changed: Changed) -> None:
    job = idle.submit("u-kira1", "-p short --gres=gpu:1")
    idle.wait_for(job, "RUNNING")
    wrong = changed("partitions.yml", "\nslurm:\n", "\nslurm:\n  parameters: {SwitchType: switch/nowhere}\n")
    before, started = slurm_files(idle), daemons(idle)
    status, words = messages_of(wrong, "apply")
    assert status == 1
    lines = gpupool("render", wrong.inventory, "marvin").stdout.splitlines()
    assert "SwitchType=switch/nowhere" in lines
    assert "refused, nothing is replaced: slurmctld would not start with the new files" in words
    assert "cannot find switch plugin for switch/nowhere" in words
    assert "clippy: not changed, because apply would refuse a change of marvin, vicki" in words
    assert slurm_files(idle) == before
    assert daemons(idle) == started
    assert idle.job(job)["JobState"] == "RUNNING"
    assert idle.out("sky1", "srun -p debug hostname", "u-hays1")
    assert not idle.out("marvin", "find /run -maxdepth 1 -name 'gpupool-trial*'")
    assert not idle.out("marvin", "ps -eo args | grep '[g]pupool-trial' || true")
