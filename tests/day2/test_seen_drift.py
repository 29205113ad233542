"""Differences from the inventory are shown and not changed; changes of nodes are in their own logs."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inventories import SMALL, copied
from pace import until

from gpupool.compile.system.drift import EXPORTER, METRICS
from gpupool.target import find_target
from tests.testbed.cluster import ROOT, Testbed, gpupool

NETWORK = "10.184.0.0/16"
CTL, NODE, SERVER = "ctl", "gpu-1", "fs1"
LOG = "/var/log/gpupool/applies.jsonl"
STORAGE = """storage:
  mount_on: "@compute"
  exports: {data: {server: fs1, path: /export/data}}
  links: {/srv/data: /mnt/data}
software: {packages: {compute: [tree]}}
qos:"""

#: Manual changes: the node, the command, and the resulting row: node, subject, inventory, file, live.
SEEDS = [
    (CTL, "scontrol update partitionname=all maxtime=1-0",
     (CTL, "partition all MaxTime", "2-00:00:00", "2-00:00:00", "1-00:00:00")),
    (CTL, f"scontrol update nodename={NODE} features=a40,fast", (NODE, "Feature", "a40", "a40", "a40,fast")),
    (CTL, f"scontrol update nodename={NODE} state=drain reason=fan", (NODE, "state in Slurm", "in service", "-", None)),
    (CTL, "echo MinJobAge=77 >>/etc/slurm/slurm.conf", (CTL, "MinJobAge", "-", "77", "300 sec")),
    (CTL, "sacctmgr -iQ modify qos normal set MaxSubmitJobsPU=3",
     (CTL, "QoS normal", "MaxSubmitPU=none", "-", "MaxSubmitPU=3")),
    (NODE, "ln -sfn /tmp /srv/data", (NODE, "/srv/data", "-> /mnt/data", "-> /tmp", "-")),
    (NODE, "usermod -s /bin/sh ann", (NODE, "user ann", "shell=/bin/bash", "-", "shell=/bin/sh")),
    (NODE, "umount /mnt/data", (NODE, "/mnt/data", "/testbed/data mounted", "-", "not mounted")),
    (NODE, "rm /dev/nvidia7", (NODE, "/dev/nvidia7", "character device 195:7", "-", "absent")),
    (NODE, "dpkg --remove tree", (NODE, "tree", "installed", "-", "not installed")),
    (SERVER, "rm /etc/ssh/sshd_config.d/gpupool.conf",
     (SERVER, "/etc/ssh/sshd_config.d/gpupool.conf", "present", "absent", "-")),
    (NODE, "systemctl disable --now munge",
     (NODE, "munge.service", "starts at boot, runs", "-", "does not start at boot, stopped")),
]  # fmt: skip


def commit(inventory: Path, text: str) -> str:
    """Commit the inventory, and return the commit."""
    git = ["git", "-C", str(inventory), "-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "--allow-empty", "-m", text]):
        subprocess.run([*git, *words], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A small cluster with a fileserver; its inventory is in git, and ann has applied the first commit."""
    inventory = copied(
        SMALL,
        tmp_path_factory.mktemp("drift") / "small",
        ("nodes:\n", "nodes:\n  - {name: fs1, address: 10.90.3.1, roles: [fileserver]}\n"),
        ("qos:", STORAGE),
        ("ctl,gpu-1", "ctl,fs1,gpu-1"),
    )
    commit(inventory, "first")
    done = gpupool("testbed", "up", inventory, "--network", NETWORK)
    assert done.returncode == 0, done.stderr
    try:
        testbed = Testbed(inventory, find_target(inventory, "testbed"))
        with pytest.MonkeyPatch.context() as by:
            by.setenv("LOGNAME", "ann")
            done = testbed.apply()
        assert done.returncode == 0, done.stdout + done.stderr
        yield testbed
    finally:
        gpupool("testbed", "down", inventory)


def drift(testbed: Testbed) -> tuple[int, list[dict[str, str]]]:
    done = gpupool("drift", testbed.inventory, "--on", "testbed", "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["differences"]


def runs(testbed: Testbed, *arguments: str) -> list[dict[str, Any]]:
    """Return the nodes of each run in the log."""
    done = gpupool("log", testbed.inventory, "--on", "testbed", "--json", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return [run["nodes"] for run in json.loads(done.stdout)["runs"]]


def counted(testbed: Testbed) -> dict[tuple[str, str], int]:
    """Return the controller's own counts of drift, by node and kind."""
    testbed.out(CTL, "systemctl start gpupool-drift")
    output = testbed.out(CTL, f"cat {METRICS}")
    assert "gpupool_controller_drift_read 1\n" in output
    rows = re.findall(r'^gpupool_controller_drift\{node="(.*)",kind="(.*)"\} (\d+)$', output, flags=re.MULTILINE)
    return {(node, kind): int(count) for node, kind, count in rows}


def test_on_a_clean_cluster_there_is_no_drift(testbed: Testbed) -> None:
    done = gpupool("drift", testbed.inventory, "--on", "testbed")
    assert (done.returncode, done.stdout) == (0, "3 nodes: no drift\n"), done.stdout
    assert testbed.out(CTL, "systemctl is-active gpupool-drift.timer") == "active"
    testbed.out(CTL, f"systemctl start gpupool-drift; test ! -e {EXPORTER}; mkdir -p {EXPORTER}")
    of_controller = [(CTL, kind) for kind in ("file", "link", "slurm", "state")]
    assert counted(testbed) == dict.fromkeys((*of_controller, (NODE, "slurm"), (NODE, "state")), 0)


def test_each_difference_is_shown_no_other_is_and_none_is_reverted(testbed: Testbed) -> None:
    for node, command, _ in SEEDS:
        testbed.out(node, command)
    status, rows = drift(testbed)
    seen = {(row["node"], row["what"]): (row["inventory"], row["file"], row["live"]) for row in rows}
    assert sorted(seen) == sorted((node, what) for _, _, (node, what, *_) in SEEDS)
    assert len(rows) == len(SEEDS)
    for _, command, (node, what, *columns) in SEEDS:
        assert all(a in (b, None) for a, b in zip(columns, seen[node, what], strict=True)), (command, seen[node, what])
    assert "IDLE+DRAIN fan [" in seen[NODE, "state in Slurm"][2]
    assert status == 3
    again = [(row["node"], row["what"]) for row in drift(testbed)[1]]
    assert again == [(row["node"], row["what"]) for row in rows], "something was reverted"
    # the controller's own timer sees differences from its slurm.conf, and that this file was changed by hand
    seen_there = {row: count for row, count in counted(testbed).items() if count}
    assert seen_there == {(CTL, "file"): 1, (CTL, "slurm"): 2, (NODE, "slurm"): 1, (NODE, "state"): 1}
    output = testbed.out(CTL, "journalctl -q -o cat -u gpupool-drift")
    assert "/etc/slurm/slurm.conf: changed since the last apply" in output
    assert "ctl: partition all MaxTime: slurm.conf 2-00:00:00, live 1-00:00:00" in output


def test_a_killed_apply_and_another_users_apply_are_in_the_log_with_their_commits(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = runs(testbed)
    second = commit(testbed.inventory, "second")
    command = [sys.executable, "-m", "gpupool", "apply", str(testbed.inventory), "--on", "testbed", "--yes"]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    try:
        until(lambda: testbed.run(NODE, f"grep -c begun {LOG}").stdout.strip() == "2", "it has begun to change a node")
    finally:
        killed.kill()
        killed.wait()
    monkeypatch.setenv("LOGNAME", "bob")
    assert testbed.apply().returncode == 0
    (again, cut, whole) = runs(testbed)
    assert again == first
    assert set(first) == {CTL, SERVER, NODE}
    assert all(finding["who"].startswith("ann@") and finding["commit"] != second for finding in first.values())
    assert cut[NODE]["ended"] == ""
    assert not cut[NODE]["under_way"]
    assert {finding["commit"] for finding in (cut[NODE], *whole.values())} == {second}
    assert all(
        finding["who"].startswith("bob@") and finding["ended"] and not finding["failure"] for finding in whole.values()
    )
    done = gpupool("log", testbed.inventory, "--on", "testbed", "--limit", NODE)
    assert f"not ended: {NODE}" in done.stdout
    assert second[:10] in done.stdout
    assert testbed.run(NODE, f"su -s /bin/sh daemon -c 'cat {LOG}'").returncode != 0
    assert "---" not in testbed.out(NODE, f"cat {LOG}"), "no diff"


def test_a_difference_that_apply_leaves_is_shown_until_its_event_happens(testbed: Testbed) -> None:
    """slurmctld has never read the files that apply has restored meanwhile: it was not reconfigured for them."""
    for node, command, _ in SEEDS[:3]:
        testbed.out(node, command)
    assert testbed.apply("--limit", CTL).returncode == 0
    _, rows = drift(testbed)
    until_then = "until slurmctld is restarted or reconfigured; apply leaves it"
    assert [(row["what"], row["then"]) for row in rows] == [
        ("partition all MaxTime", until_then),
        ("Feature", until_then),
        ("state in Slurm", f"until a person ends it: scontrol update nodename={NODE} state=resume"),
    ]
    testbed.out(CTL, f"scontrol update nodename={NODE} state=resume && scontrol reconfigure")
    until(lambda: drift(testbed) == (0, []), "nothing differs any more")


def test_a_node_that_does_not_answer_is_named_and_delays_no_other(testbed: Testbed) -> None:
    testbed.switch_off(SERVER)
    try:
        for command in ("log", "drift"):
            done = gpupool(command, testbed.inventory, "--on", "testbed", "--json")
            assert done.returncode == 1
            assert list(json.loads(done.stdout)["trouble"]) == [SERVER]
    finally:
        testbed.switch_on(SERVER)
