"""Heads are shared: each user has a limited share, and processes that users leave running survive."""

import pytest
from burning import burning, has_controller, taken
from pace import until

from tests.testbed.cluster import Changed, Testbed

HEAD, USER = "sky1", "u-kira1"
SHARE = "systemctl show user-$(id -u).slice -p CPUQuotaPerSecUSec,MemoryMax,TasksMax"


@pytest.mark.promise("SKY-008", "SKY-162")
def test_each_user_has_a_share_of_a_head_and_root_has_none(skynet: Testbed) -> None:
    wanted = {"CPUQuotaPerSecUSec=2s", f"MemoryMax={16 * 1024**3}", "TasksMax=4096"}
    assert set(skynet.out(HEAD, SHARE, USER).splitlines()) == wanted
    root = skynet.out(HEAD, SHARE).splitlines()
    assert {"CPUQuotaPerSecUSec=infinity", "MemoryMax=infinity"} <= set(root)


@pytest.mark.promise("SKY-008", "SKY-162")
def test_a_new_share_applies_at_once_to_open_sessions(changed: Changed) -> None:
    testbed = changed("access.yml", "cpu_per_user: 200%", "cpu_per_user: 50%")
    with burning(testbed.out, HEAD, USER):
        assert testbed.apply("--limit", HEAD).returncode == 0
        uid = testbed.out(HEAD, f"id -u {USER}")
        quota = testbed.out(HEAD, f"systemctl show user-{uid}.slice -p CPUQuotaPerSecUSec --value")
        assert quota == "500ms"
        assert testbed.plan("--limit", HEAD) == (0, {})
        if has_controller(testbed.out, HEAD):
            until(lambda: taken(testbed.out, HEAD, USER).throttled, "the kernel makes the user wait")
            # slightly above the share: the kernel counts in slices of time
            assert taken(testbed.out, HEAD, USER).cpus < 0.5 * 1.2


@pytest.mark.promise("SKY-013")
def test_processes_that_a_user_leaves_running_survive_the_session(skynet: Testbed) -> None:
    pid = skynet.out(HEAD, "setsid sleep 6007 >/dev/null 2>&1 & echo $!", USER)
    try:
        state = f"loginctl show-user {USER} -p State --value"
        until(lambda: skynet.out(HEAD, state) in ("closing", "lingering"), "the session is over")
        assert skynet.out(HEAD, f"cat /proc/{pid}/comm") == "sleep"
    finally:
        skynet.out(HEAD, f"kill {pid}")


@pytest.mark.promise("SKY-164")
def test_sessions_and_jobs_have_the_inventorys_limit_of_open_files(idle: Testbed) -> None:
    """A testbed's own number: containers cannot have more than their host."""
    most = idle.cluster.policies.nofile
    raised = f"ulimit -n {most} && ulimit -n && ulimit -Hn"
    for node in (HEAD, "clippy"):
        assert idle.out(node, raised, USER).split() == [str(most)] * 2
    assert idle.out(HEAD, f"srun -p debug bash -c '{raised}'", USER).split() == [str(most)] * 2
    batch = f"sbatch --wait --parsable -p debug -o out.%j --wrap '{raised}' && cat out.*; rm out.*"
    assert idle.out(HEAD, batch, USER).split()[1:] == [str(most)] * 2


@pytest.mark.promise("SKY-050")
def test_vscode_servers_of_all_users_are_ended_and_counted(skynet: Testbed) -> None:
    users = (USER, "u-hays1")
    start = "bash -c 'exec -a ~/.vscode-server/bin/0ee0/node sleep 6008' >/dev/null 2>&1 & echo $!"
    servers = [skynet.out(HEAD, f"setsid {start}", user) for user in users]
    editor = skynet.out(HEAD, "setsid sleep 6009 >/dev/null 2>&1 & echo $!", USER)
    until(
        lambda: all("vscode-server" in skynet.out(HEAD, f"cat /proc/{pid}/cmdline") for pid in servers),
        "the servers run",
    )
    try:
        listed = skynet.out(HEAD, "gpupool-vscode-kill --dry-run")
        assert "2 would be ended" in listed
        text = skynet.out(HEAD, "gpupool-vscode-kill")
        assert "2 terminated, 0 killed" in text
        assert all(f"PID {pid} " in text for pid in servers)
        assert skynet.run(HEAD, f"ls -d {' '.join(f'/proc/{pid}' for pid in servers)}").stdout == ""
        assert skynet.out(HEAD, f"cat /proc/{editor}/comm") == "sleep"
        assert "2 terminated" in skynet.out(HEAD, "journalctl -q -o cat -t gpupool-vscode")
    finally:
        skynet.out(HEAD, f"kill {editor}")
    timer = skynet.out(HEAD, "systemctl is-active gpupool-vscode.timer")
    assert timer == "active"
