"""A user who is removed, or moved to another lab, loses access with one apply: every door is tried, as the user."""

import pytest
from pace import until

from tests.testbed.cluster import Changed, Testbed

HEAD, NODE, USER, MOVED, LAB = "sky1", "clippy", "u-kira1", "u-hays1", "hays-lab"
ENTRY = "  - {name: u-kira1, uid: 20031, account: kira-lab, inferred: true}\n"
SLEEP = "exec sleep 6002"


@pytest.fixture
def busy(changed: Changed) -> tuple[Changed, dict[str, str]]:
    """Two users with a running and a held job each; the first also an array, and sessions on a head and in a job."""
    testbed = changed("labs.yml", ENTRY, ENTRY)  # not changed yet
    jobs = {
        "running": testbed.submit(USER, f"-p short -w {NODE}", SLEEP),
        "held": testbed.submit(USER, "-p short -H", SLEEP),
        "array": testbed.submit(USER, "-p short -a 1-3 -b now+1hour", SLEEP),
        "moved": testbed.submit(MOVED, f"-p short -w {NODE}", SLEEP),
        "moved held": testbed.submit(MOVED, "-p short -H", SLEEP),
    }
    for name in ("running", "moved"):
        testbed.wait_for(jobs[name], "RUNNING")
    for node in (HEAD, NODE):
        testbed.out(node, "setsid nohup sleep 6001 >/dev/null 2>&1 & echo", USER)
        until(lambda node=node: processes(testbed, node, "6001"), f"a session runs on {node}")
    return changed, jobs


def processes(testbed: Testbed, node: str, seconds: str) -> list[str]:
    """Return the ids of the removed user's processes on a node that sleep for so long."""
    return testbed.run(node, f"pgrep -u {USER} -f 'sleep {seconds}'").stdout.split()


def queue(testbed: Testbed) -> set[str]:
    return set(testbed.out(testbed.controller, "squeue -h -o '%F %t'").splitlines())


def test_every_door_is_closed_and_running_jobs_finish(busy: tuple[Changed, dict[str, str]]) -> None:
    changed, jobs = busy
    changed("labs.yml", ENTRY, "")
    testbed = changed(
        "labs.yml", "name: u-hays1, uid: 20021, account: hays-lab", "name: u-hays1, uid: 20021, account: kira-lab"
    )
    done = testbed.apply()
    assert done.returncode == 1
    for user, lab in ((USER, "kira-lab"), (MOVED, LAB)):
        assert f"user {user} in account {lab} (it has running or pending jobs)" in done.stdout
    # no pending job is left, and the running ones go on
    assert queue(testbed) == {f"{jobs['running']} R", f"{jobs['moved']} R"}
    assert processes(testbed, NODE, "6002")
    # no session is left, and no login is possible
    for node in (HEAD, NODE):
        assert not processes(testbed, node, "6001")
        assert testbed.run(node, "id", USER).returncode == 255
    assert testbed.run(HEAD, f"su {USER} -c id").returncode
    # no new job, even for a process that was forgotten, nor a job of the lab that was left
    for user, lab in ((USER, "kira-lab"), (MOVED, LAB)):
        submit = f"sbatch -D /tmp -A {lab} -p short -o /dev/null --wrap true"
        refused = testbed.run(HEAD, f"setpriv --reuid $(id -u {user}) --regid $(id -g {user}) --clear-groups {submit}")
        assert "AssocGrpSubmitJobsLimit" in refused.stderr
    # a job that is requeued does not start again
    testbed.out(testbed.controller, f"scontrol requeue {jobs['running']}")
    testbed.wait_for(jobs["running"], "PENDING", "AssocGrpJobsLimit")


def test_running_jobs_end_if_the_inventory_has_them_end_and_a_return_opens_the_account(
    busy: tuple[Changed, dict[str, str]],
) -> None:
    changed, _ = busy
    changed("access.yml", "policies:\n", "policies:\n  jobs_of_removed_users: end\n")
    testbed = changed("labs.yml", ENTRY, "")
    testbed.out(testbed.controller, f"scancel -u {MOVED}")
    done = testbed.apply()
    assert done.returncode == 0, done.stdout
    assert not testbed.out(testbed.controller, f"squeue -h -u {USER}")
    assert testbed.plan() == (0, {})
    account = "  - {name: u-hays1,"
    assert changed("labs.yml", account, f"{ENTRY}{account}").apply().returncode == 0
    assert testbed.out(HEAD, "whoami", USER) == USER
    testbed.wait_for(testbed.submit(USER, "-p short", SLEEP), "RUNNING")
