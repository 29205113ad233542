"""The reaper's rule for strays, by /proc of nodes of several kinds."""

from dataclasses import replace

import pytest

from gpupool.node.processes import Process
from gpupool.programs.reaper.rules import Rule, container, in_job, strays, vscode
from gpupool.unix import RESERVED_IDS

USER, OTHER, SPARED = 20001, 20002, 20003
RULE = Rule(least_uid=1000, grace=60, spared=frozenset({0, SPARED}))
BOX = "a" * 64

SESSION = "/user.slice/user-20001.slice/session-3.scope"
JOBS = {
    "v2": "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0",
    "v2, several slurmd": "/system.slice/a40-01_slurmstepd.scope/job_12/step_batch/user/task_0",
    "v2, ssh taken into a job": "/system.slice/slurmstepd.scope/job_12/step_extern/user/task_special",
    "v1": "/slurm/uid_20001/job_12/step_0/task_0",
    "v1, several slurmd": "/slurm_a40-01/uid_20001/job_12/step_batch",
}
NO_JOBS = {
    "session": SESSION,
    "user unit": "/user.slice/user-20001.slice/user@20001.service/app.slice/tmux.service",
    "a user's own group of that name": "/user.slice/user-20001.slice/user@20001.service/slurmstepd.scope/job_12",
    "slurmd itself": "/system.slice/slurmd.service",
    "cron": "/system.slice/cron.service",
    "the scope without a job": "/system.slice/slurmstepd.scope/system",
}
CONTAINERS = {
    "docker by systemd": f"/system.slice/docker-{BOX}.scope",
    "docker by cgroupfs": f"/docker/{BOX}",
    "docker in docker": f"/docker/{'b' * 64}/docker/{BOX}",
    "podman": f"/machine.slice/libpod-{BOX}.scope/container",
}


def process(pid: int = 100, uid: int = USER, group: str = SESSION, began: float = 1000.0, parent: int = 1) -> Process:
    return Process(pid, parent, began, uid, "python3", (group,), "/usr/bin/python3", ("python3", "train.py"))


def job(began: float = 500.0, uid: int = 0) -> Process:
    return process(900, uid, JOBS["v2, ssh taken into a job"], began)


def test_a_users_process_from_ssh_is_a_stray() -> None:
    assert strays([process()], RULE) == [process()]


@pytest.mark.promise("SKY-160")
@pytest.mark.parametrize("group", JOBS.values(), ids=JOBS)
def test_jobs_are_spared(group: str) -> None:
    assert in_job(process(group=group))
    # with v1 some hierarchies do not know of jobs
    both = replace(process(), groups=("/", group, SESSION))
    assert strays([process(group=group), both], RULE) == []


@pytest.mark.parametrize("group", NO_JOBS.values(), ids=NO_JOBS)
def test_a_control_group_similar_to_a_jobs_is_not_spared(group: str) -> None:
    assert strays([process(group=group), job()], RULE) == [process(group=group)]


@pytest.mark.promise("SKY-160")
@pytest.mark.parametrize("uid", [0, 1, 101, 999, 61184, 65519, 65534, SPARED])
def test_system_users_and_named_users_are_spared(uid: int) -> None:
    assert strays([process(uid=uid)], RULE) == []


@pytest.mark.parametrize("uid", [60_000, *(ids.stop for ids, _ in RESERVED_IDS[1:-1]), RESERVED_IDS[-1][0].start - 1])
def test_numbers_that_an_inventory_may_have_are_persons(uid: int) -> None:
    assert strays([process(uid=uid)], RULE)


def test_a_user_of_sudo_keeps_the_whole_session() -> None:
    login, shell = process(100), process(101, parent=100)
    sudo, root = process(102, 0, parent=101), process(103, 0, parent=102)
    beside = process(104, parent=100)
    assert strays([login, shell, sudo, root, beside], RULE) == []
    # after sudo has ended, the user's processes are treated like all others
    assert strays([login, shell, beside], RULE) == [login, shell, beside]
    # sshd's own part for a session is above it
    monitor = process(99, 0)
    assert strays([monitor, process(100, parent=99)], RULE) == [process(100, parent=99)]


def test_a_process_that_root_runs_as_a_user_is_spared() -> None:
    su = process(group="/user.slice/user-0.slice/session-1.scope")
    assert strays([su], RULE) == []
    of_spared = process(group=f"/user.slice/user-{SPARED}.slice/session-1.scope")
    assert strays([of_spared], RULE) == []


def test_users_with_a_job_are_spared_where_ssh_is_part_of_it() -> None:
    mine, others = process(), process(200, OTHER, f"/user.slice/user-{OTHER}.slice/session-4.scope")
    running = job(uid=USER)
    assert strays([mine, others, running], RULE) == [mine, others]
    assert strays([mine, others, running], replace(RULE, users_with_jobs=True)) == [others]


@pytest.mark.promise("SKY-160", "SKY-178")
@pytest.mark.parametrize("group", CONTAINERS.values(), ids=CONTAINERS)
def test_a_container_that_a_running_job_may_have_started_is_spared(group: str) -> None:
    boxed = process(group=group, began=1000)
    assert container(boxed) is not None
    assert strays([boxed, job(began=500)], RULE) == []
    assert strays([boxed, job(began=5000), job(began=999)], RULE) == []
    # a prolog may have been first
    assert strays([boxed, job(began=1059)], RULE) == []


def test_a_container_without_a_running_job_is_a_stray() -> None:
    boxed = process(group=CONTAINERS["docker by systemd"], began=1000)
    assert strays([boxed], RULE) == [boxed]
    assert strays([boxed, job(began=5000)], RULE) == [boxed]
    # it began with its first process, whatever the owner of that is
    first = replace(boxed, pid=99, uid=0, began=400.0)
    assert strays([first, replace(boxed, began=5500.0), job(began=5000)], RULE) == [replace(boxed, began=5500.0)]
    # with this switched off, containers are treated like all other processes
    assert strays([boxed, job(began=500)], replace(RULE, containers=False)) == [boxed]


def server(pid: int = 100, uid: int = USER, exe: str = "", *command: str, group: str = SESSION) -> Process:
    return replace(process(pid, uid, group), exe=exe, command=command)


SERVERS = {
    "server": server(1, USER, "/nethome/u/.vscode-server/bin/0ee0/node", "/nethome/u/.vscode-server/bin/0ee0/node"),
    "on flash": server(2, USER, "/coc/flash1/u/.vscode-server/cli/servers/Stable-0/server/node", "node"),
    "search": server(3, USER, "/nethome/u/.vscode-server/bin/0ee0/node_modules/vscode-ripgrep/bin/rg", "rg"),
    "starter": server(4, USER, "/usr/bin/dash", "sh", "/nethome/u/.vscode-server/bin/0ee0/bin/code-server"),
    "language server": server(5, USER, "/usr/bin/python3.13", "python3", "/nethome/u/.vscode-server/extensions/x.py"),
    "insiders": server(6, USER, "/nethome/u/.vscode-server-insiders/bin/0ee0/node", "node"),
    "renamed": server(7, USER, "/usr/bin/sleep", "vscode-server"),
}


@pytest.mark.promise("SKY-050")
@pytest.mark.parametrize("process", SERVERS.values(), ids=SERVERS)
def test_a_vscode_server_is_known_by_its_command(process: Process) -> None:
    assert vscode([process], RULE, leftovers=False) == [process]


@pytest.mark.promise("SKY-050")
def test_other_processes_are_not_vscode_servers() -> None:
    shell = server(1, USER, "/usr/bin/bash", "bash", "--init-file", "/nethome/u/.vscode-server/bin/shellIntegration.sh")
    editor = server(2, USER, "/usr/bin/vim.basic", "vim", "my-vscode-server-notes.txt")
    root = server(3, 0, "/root/.vscode-server/bin/0ee0/node", "node")
    in_a_job = replace(SERVERS["server"], groups=(JOBS["v2"],))
    assert vscode([replace(shell, command=shell.command[:2]), editor, root, in_a_job], RULE, leftovers=False) == []


@pytest.mark.parametrize(
    "sshd",
    ["/usr/lib/openssh/sshd-session", "/usr/sbin/sshd", "/usr/lib/openssh/sshd-session (deleted)"],
)
def test_leftovers_are_servers_of_users_without_a_session(sshd: str) -> None:
    mine, others = SERVERS["server"], replace(SERVERS["server"], pid=200, uid=OTHER)
    session = server(50, USER, sshd, "sshd-session: u-lab1@pts/0")
    assert vscode([mine, others, session], RULE, leftovers=True) == [others]
    assert vscode([mine, others, session], RULE, leftovers=False) == [mine, others]
