"""Apply and plan: the second apply does nothing, a change is named exactly, a dead node does not stop the others."""

import json
from pathlib import Path

from pace import until

from tests.testbed.cluster import Testbed, gpupool

UNITS = ("ssh", "munge", "mariadb", "slurmdbd", "slurmctld", "slurmd", "sackd")


def daemons(testbed: Testbed) -> dict[str, str]:
    """Return, for each daemon of each node, its start and its PID: a reconfigure changes only the PID."""
    show = f"systemctl show -p Id -p ActiveEnterTimestampMonotonic -p MainPID {' '.join(UNITS)}"
    return {node.name: testbed.out(node.name, show) for node in testbed.target.nodes}


def test_second_apply_changes_nothing_and_restarts_nothing(skynet: Testbed) -> None:
    before = daemons(skynet)
    done = skynet.apply("--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert {name: host["changes"] for name, host in report["hosts"].items() if host["changes"]} == {}
    assert daemons(skynet) == before


def test_a_plan_names_only_the_missing_link_and_apply_creates_it(skynet: Testbed) -> None:
    before = daemons(skynet)
    skynet.out("clippy", "rm /srv/share4")
    status, changes = skynet.plan()
    assert status == 3
    assert changes == {"clippy": ["Links | /srv/share4"]}
    done = skynet.apply("--json")
    assert done.returncode == 0
    hosts = json.loads(done.stdout)["hosts"]
    made = {
        name: [change["operation"] for change in host["changes"]] for name, host in hosts.items() if host["changes"]
    }
    assert made == {"clippy": ["Links | /srv/share4"]}
    assert skynet.out("clippy", "readlink /srv/share4") == "/coc/pskynet4"
    assert daemons(skynet) == before
    assert skynet.plan() == (0, {})


def test_a_missing_gpu_device_is_created_by_a_saved_plan_that_a_change_by_hand_invalidates(
    skynet: Testbed, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    skynet.out("clippy", "rm /dev/nvidia7")
    assert gpupool("plan", skynet.inventory, "--on", "testbed", "--out", file).returncode == 3
    skynet.out("clippy", "rm /srv/share4")
    refused = gpupool("apply", skynet.inventory, file, "--on", "testbed")
    assert refused.returncode == 1, refused.stdout
    assert "clippy: Links | /srv/share4 is not in the plan" in refused.stderr
    skynet.out("clippy", "ln -s /coc/pskynet4 /srv/share4")
    assert skynet.plan() == (3, {"clippy": ["GPU devices | /dev/nvidia7"]})
    done = gpupool("apply", skynet.inventory, file, "--on", "testbed")
    assert done.returncode == 0, done.stderr
    assert skynet.out("clippy", "stat -c '%F %t:%T %a' /dev/nvidia7") == "character special file c3:7 666"
    assert skynet.plan() == (0, {})


def test_a_stopped_node_fails_alone_and_is_finished_later(skynet: Testbed) -> None:
    skynet.switch_off("titanx-01")
    try:
        skynet.out("clippy", "rm /srv/share5")
        done = skynet.apply()
        assert done.returncode == 1
        about = [line for line in done.stdout.splitlines() if line.startswith("titanx-01")]
        assert len(about) == 1, done.stdout
        assert "cannot be reached" in about[0]
        assert "9 of 10 nodes match the inventory" in done.stdout
        assert "Traceback" not in done.stdout + done.stderr
        assert skynet.out("clippy", "readlink /srv/share5") == "/coc/pskynet5"
    finally:
        skynet.switch_on("titanx-01")
    until(lambda: skynet.run("titanx-01", "true").returncode == 0, "titanx-01 lets us in")
    done = skynet.apply()
    assert done.returncode == 0, done.stdout
    assert skynet.plan() == (0, {})
    until(lambda: skynet.out("marvin", "sinfo -h -n titanx-01 -o %t | sort -u") == "idle", "titanx-01 is idle")


def test_apply_without_a_terminal_requires_the_option_yes(skynet: Testbed) -> None:
    done = gpupool("apply", skynet.inventory, "--on", "testbed")
    assert done.returncode == 1
    assert "--yes" in done.stderr


def test_verify_passes_and_names_a_failed_check(skynet: Testbed) -> None:
    done = gpupool("verify", skynet.inventory, "--on", "testbed", "--json")
    assert done.returncode == 0, done.stdout
    skynet.out("sky2", "rm /srv/share && useradd -g kira-lab u-left1")
    done = gpupool("verify", skynet.inventory, "--on", "testbed", "--limit", "sky2")
    assert done.returncode == 1
    assert "sky2: links have their targets" in done.stdout
    assert "sky2: removed users cannot log in: not in the inventory, and may log in: u-left1" in done.stdout
    # as the message asks
    skynet.out("sky2", "usermod --expiredate 1 u-left1")
    assert skynet.apply("--limit", "sky2").returncode == 0
    assert gpupool("verify", skynet.inventory, "--on", "testbed", "--limit", "sky2").returncode == 0
    skynet.out("sky2", "userdel u-left1")
