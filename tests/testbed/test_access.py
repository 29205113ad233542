"""SSH access: users reach compute nodes only with a job and servers not at all, admins reach all nodes."""

import subprocess
from collections.abc import Iterator

import pytest
from pace import until

from gpupool.testbed.look import ssh_command
from tests.testbed.cluster import Changed, Testbed, gpupool
from tests.testbed.test_jobs import PROBE

NODE, OTHER, SERVER, CONTROLLER, HEAD = "clippy", "a40-01", "multivac", "marvin", "sky1"
USER = "u-kira1"
# lines of the inventory's access.yml, which tests replace
COMPUTE_OPEN, FILESERVER_OPEN, CONTROLLER_OPEN = "compute_ssh: open", "fileserver_ssh: open", "controller_ssh: open"


def login(
    testbed: Testbed, node: str, command: str, user: str = USER, text: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command over a new connection: sshd does not check the access of a shared connection again."""
    assert testbed.target.testbed
    words = ssh_command(testbed.target.testbed, node, user, [command])
    words[1:1] = ["-o", "LogLevel=INFO"]  # the testbed's LogLevel ERROR hides the messages of PAM
    return subprocess.run(words, input=text, capture_output=True, text=True, check=False)


def applied(testbed: Testbed, nodes: str) -> Testbed:
    done = testbed.apply("--limit", nodes)
    assert done.returncode == 0, done.stdout + done.stderr
    assert testbed.plan("--limit", nodes) == (0, {})
    return testbed


@pytest.fixture
def allocated(changed: Changed) -> Testbed:
    """Compute nodes admit users with a job on them."""
    return applied(changed("access.yml", COMPUTE_OPEN, "compute_ssh: allocated"), f"{NODE},{OTHER}")


@pytest.fixture
def sudo_user(allocated: Testbed) -> Iterator[str]:
    """A user who administers a node: a member of its group sudo."""
    allocated.out(NODE, "gpasswd -a u-hays1 sudo")
    yield "u-hays1"
    allocated.out(NODE, "gpasswd -d u-hays1 sudo")


@pytest.mark.promise("SKY-160", "SKY-210")
def test_where_all_users_may_log_in_no_job_is_required(idle: Testbed) -> None:
    for node in (HEAD, NODE, SERVER, CONTROLLER):
        done = login(idle, node, "hostname")
        assert done.stdout.strip() == node, done.stderr
    assert idle.run(NODE, "ls /etc/pam.d/gpupool-sshd").returncode


@pytest.mark.promise("AAU-024", "SDU-031", "SDU-032")
def test_without_a_job_a_user_is_refused_and_with_one_the_session_joins_it(allocated: Testbed, sudo_user: str) -> None:
    refused = login(allocated, NODE, "hostname")
    assert (refused.returncode, refused.stdout) == (255, "")
    assert "Access denied by pam_slurm_adopt" in refused.stderr
    # admins are admitted whatever the state of Slurm
    for admin in ("root", sudo_user):
        assert login(allocated, NODE, "hostname", admin).stdout.strip() == NODE

    job = allocated.submit(USER, f"-w {NODE} --gres=gpu:2 -p short")
    allocated.wait_for(job, "RUNNING")
    # one line for each GPU: ENXIO if it may be opened, as the fake device has no hardware
    output = login(allocated, NODE, "bash -s", text=PROBE).stdout.splitlines()
    gpus = allocated.cluster.nodes[NODE].gpu_count
    assert [line.split()[0] for line in output].count("ENXIO") == 2, output
    assert [line.split()[0] for line in output].count("EPERM") == gpus - 2, output
    assert f"job_{job}" in login(allocated, NODE, "cat /proc/self/cgroup").stdout
    assert login(allocated, OTHER, "hostname").returncode == 255, "the job is on another node"

    assert allocated.target.testbed
    words = ssh_command(allocated.target.testbed, NODE, USER, ["echo in; exec sleep infinity"])
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as session:
        assert session.stdout
        assert session.stdout.readline() == "in\n"
        allocated.out(HEAD, f"scancel {job}", USER)
        until(lambda: session.poll() is not None, "the session ends with its job")
    until(lambda: login(allocated, NODE, "true").returncode == 255, "the user is refused again")
    assert allocated.run(NODE, f"pgrep -u {USER} sleep").stdout == ""


@pytest.mark.promise("SDU-050")
def test_a_session_of_an_exclusive_job_has_all_gpus_of_the_node(allocated: Testbed) -> None:
    """The job requests no GPUs, so a step of srun in it gets none."""
    allocated.wait_for(allocated.submit(USER, f"-w {NODE} -p overcap -A overcap --exclusive"), "RUNNING")
    output = login(allocated, NODE, "bash -s", text=PROBE).stdout.splitlines()
    assert [line.split()[0] for line in output] == ["ENXIO"] * allocated.cluster.nodes[NODE].gpu_count


def test_admins_log_in_while_slurm_is_down_and_users_do_not(allocated: Testbed) -> None:
    allocated.out(NODE, "systemctl stop slurmd")
    try:
        assert login(allocated, NODE, "hostname", "root").stdout.strip() == NODE
        assert login(allocated, NODE, "hostname").returncode == 255
    finally:
        allocated.out(NODE, "systemctl start slurmd")
    node_state = "sinfo -h -n clippy -o %t"
    until(
        lambda: "idle" in allocated.out(CONTROLLER, node_state),
        "the node is back",
        lambda: allocated.out(CONTROLLER, node_state),
    )


def test_verify_checks_who_may_log_in(allocated: Testbed) -> None:
    done = gpupool("verify", allocated.inventory, "--on", "testbed", "--limit", NODE)
    assert done.returncode == 0, done.stdout
    allocated.out(NODE, "rm /etc/ssh/sshd_config.d/gpupool.conf")
    try:
        done = gpupool("verify", allocated.inventory, "--on", "testbed", "--limit", NODE)
        assert done.returncode == 1
        assert "does not ask Slurm whether users have a job here" in done.stdout
    finally:
        assert allocated.apply("--limit", NODE).returncode == 0


def test_another_drop_in_that_sshd_reads_first_is_named(allocated: Testbed) -> None:
    foreign = "/etc/ssh/sshd_config.d/00-site.conf"
    allocated.out(NODE, f"echo 'KbdInteractiveAuthentication yes' > {foreign} && systemctl reload ssh")
    try:
        applied = allocated.apply("--limit", NODE)
        verified = gpupool("verify", allocated.inventory, "--on", "testbed", "--limit", NODE)
    finally:
        allocated.out(NODE, f"rm {foreign} && systemctl reload ssh")
    assert (applied.returncode, verified.returncode) == (1, 1)
    for output in (applied.stdout, verified.stdout):
        words = " ".join(output.split())
        assert "kbdinteractiveauthentication is yes" in words
        assert foreign in words
    assert allocated.plan("--limit", NODE) == (0, {})


@pytest.mark.promise("GCP-003")
def test_servers_refuse_users_and_heads_do_not(changed: Changed) -> None:
    changed("access.yml", FILESERVER_OPEN, "fileserver_ssh: admins")
    testbed = applied(changed("access.yml", CONTROLLER_OPEN, "controller_ssh: admins"), f"{SERVER},{CONTROLLER},{HEAD}")
    for node in (SERVER, CONTROLLER):
        refused = login(testbed, node, "hostname")
        assert (refused.returncode, refused.stdout) == (255, "")
        assert "Permission denied" in refused.stderr
        assert login(testbed, node, "hostname", "root").stdout.strip() == node
    assert login(testbed, HEAD, "hostname").stdout.strip() == HEAD
    # Slurm's commands work nevertheless, as they ask the controller
    assert login(testbed, HEAD, "sinfo -h -o %P").stdout


def test_compute_nodes_that_are_closed_to_users_run_their_jobs(changed: Changed) -> None:
    testbed = applied(changed("access.yml", COMPUTE_OPEN, "compute_ssh: none"), NODE)
    testbed.wait_for(testbed.submit(USER, f"-w {NODE} -p short"), "RUNNING")
    assert "Permission denied" in login(testbed, NODE, "hostname").stderr
    assert login(testbed, NODE, "hostname", "root").stdout.strip() == NODE
    assert testbed.out(HEAD, f"srun -w {NODE} -p debug hostname", USER) == NODE
