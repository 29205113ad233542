"""The effects of a change in a plan, the effects of the apply, and a daemon that does not start. Jobs survive."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from inventories import SMALL, copied
from pace import start, until

from gpupool.target import find_target
from tests.testbed.cluster import ROOT, Testbed, gpupool

NETWORK = "10.181.0.0/16"
HEAD = "ctl"
WITH_GPU, WITHOUT = 6, 14  # jobs with the lab's own GPUs, and without GPUs
JOBS = WITH_GPU + WITHOUT
#: Lines of the small inventory, changed for this cluster.
BASE = (
    ("roles: [head, controller, database]", "roles: [head, controller, database, fileserver]"),
    (
        '  - {name: "gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 8}}',
        '  - {name: "gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 8}}\n'
        '  - {name: "gpu-3", address: "10.90.2.3", roles: [compute], hardware: box, gpus: {a40: 8}}',
    ),
    (
        "qos:",
        "environment: {job: {COURSE: old}}\n"
        "storage: {exports: {plain: {server: ctl, path: /export/plain, mount_on: gpu-1, options: [nosuid]}}}\n"
        "slurm: {parameters: {KillWait: 20}, slurmdbd: {parameters: {DebugLevel: info}}}\n"
        'gpu: {driver: fake}\nsoftware: {cuda: {where: "@compute", driver_branch: "550"}}\nqos:',
    ),
    ('testbed: {nodes: "ctl,gpu-1"}', 'testbed: {nodes: "ctl,gpu-[1-3]"}'),
)
WITHOUT_3 = ("ctl,gpu-[1-3]", "ctl,gpu-[1-2]")
NOTHING, RECONFIGURE, ARBITER = "nothing", "reconfigure", "restart gpupool-arbiter"
#: Kinds of change: texts and their replacements, and the effect on each node that changes.
KINDS = {
    "new user": (
        ("  - {name: ann, uid: 20001, account: red}", "  - {name: ann, uid: 20001, account: red}\n"
         "  - {name: eve, uid: 20009, account: red}"),
        {HEAD: NOTHING, "gpu-1": NOTHING, "gpu-2": NOTHING},
    ),
    "cap changed": (("contributed_gpus: 6", "contributed_gpus: 5"), {HEAD: ARBITER}),
    "partition time": (("max_time: 2d", "max_time: 3d"), {HEAD: RECONFIGURE}),
    "new partition": (
        ("partitions:\n", 'partitions:\n  - {name: quick, nodes: "@compute", max_time: 1h}\n'),
        {HEAD: f"{RECONFIGURE}, {ARBITER}"},
    ),
    "node added": (
        ("ctl,gpu-[1-2]", "ctl,gpu-[1-3]"),
        {HEAD: f"{RECONFIGURE}, {ARBITER}", "gpu-1": NOTHING, "gpu-2": NOTHING, "gpu-3": "start"},
    ),
    "node removed": (("ctl,gpu-[1-2]", "ctl,gpu-1"), {HEAD: f"{RECONFIGURE}, {ARBITER}", "gpu-1": NOTHING}),
    "gres count": (
        ('gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 8}}',
         'gpu-1", address: "10.90.2.1", roles: [compute], hardware: box, gpus: {a40: 8}}\n'
         '  - {name: "gpu-2", address: "10.90.2.2", roles: [compute], hardware: box, gpus: {a40: 7}}'),
        {HEAD: f"{RECONFIGURE}, {ARBITER}", "gpu-2": NOTHING},
    ),
    "prolog text": (("COURSE: old", "COURSE: new"), {"gpu-1": NOTHING, "gpu-2": NOTHING}),
    "scheduler parameter": (
        ("{KillWait: 20}", "{KillWait: 20, SchedulerParameters: bf_window=2880}"), {HEAD: RECONFIGURE}
    ),
    "slurmdbd setting": (("DebugLevel: info", "DebugLevel: verbose"), {HEAD: "reload slurmdbd"}),
    "mount option": (("[nosuid]", "[nosuid, noexec]"), {"gpu-1": "remount"}),
    "driver pin": (
        ('driver_branch: "550"', 'driver_branch: "560"'), {"gpu-1": "drain", "gpu-2": "drain"}
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A cluster of two compute nodes, with a third in reserve, jobs on the first; fake drivers and exports."""
    inventory = copied(SMALL, tmp_path_factory.mktemp("price") / "small", *BASE)
    done = gpupool("testbed", "up", inventory, "--network", NETWORK)
    assert done.returncode == 0, done.stderr
    try:
        testbed = Testbed(inventory, find_target(inventory, "testbed"))
        script = (Path(__file__).parent / "standin_driver.sh").read_text()
        for node in testbed.cluster.having("compute"):
            testbed.out(node.name, "bash -s free", text=script)
        copied(inventory, inventory, WITHOUT_3)
        testbed = Testbed(inventory, find_target(inventory, "testbed"))
        done = apply(testbed)
        assert done.returncode == 0, done.stdout + done.stderr
        job = "sbatch --uid ann -D /mnt/plain -o /dev/null -p all -w gpu-1 -n 1 --mem 1G --wrap 'sleep 3000'"
        testbed.out(
            HEAD, f"for n in $(seq {WITH_GPU}); do {job} --gpus 1; done; for n in $(seq {WITHOUT}); do {job}; done"
        )
        until(lambda: running(testbed) == JOBS, "jobs run", lambda: testbed.out(HEAD, "squeue"))
        yield testbed
    finally:
        gpupool("testbed", "down", inventory)


def program(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program of this folder in a process: the engine cannot be imported beside xdist, which waits in threads."""
    return subprocess.run(
        [sys.executable, str(Path(__file__).parent / name), *map(str, arguments)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def apply(testbed: Testbed) -> subprocess.CompletedProcess[str]:
    return program("standins.py", "apply", testbed.inventory, "--on", "testbed", "--yes")


def running(testbed: Testbed) -> int:
    """Count jobs that have been running since their first start."""
    jobs = json.loads(testbed.out(HEAD, "squeue --json"))["jobs"]
    return sum(job["job_state"] == ["RUNNING"] and job["restart_cnt"] == 0 for job in jobs)


def plan(testbed: Testbed) -> dict[str, str]:
    """Return the effects of each node's changes in a plan, deferred changes included."""
    done = program("standins.py", "plan", testbed.inventory, "--on", "testbed", "--json")
    hosts = json.loads(done.stdout)["hosts"]
    refused = any(host["effect"] == "drain" for host in hosts.values())
    assert done.returncode in ((1,) if refused else (0, 3)), done.stdout + done.stderr
    return {name: host["effect"] for name, host in hosts.items() if host["changes"] or host["effect"] != "nothing"}


def test_each_kind_of_change_has_its_effect_in_the_plan(testbed: Testbed) -> None:
    right = (testbed.inventory / "inventory.yml").read_text()
    found = {}
    for kind, (change, _) in KINDS.items():
        copied(testbed.inventory, testbed.inventory, change)
        found[kind] = {
            name: "start" if "start " in effect and "restart" not in effect else effect
            for name, effect in plan(testbed).items()
        }
        (testbed.inventory / "inventory.yml").write_text(right)
    assert found == {kind: expected for kind, (_, expected) in KINDS.items()}


def invocations(testbed: Testbed) -> dict[str, str]:
    """Return systemd's invocation ID of each daemon, by daemon and node."""
    daemons = [(HEAD, "slurmctld"), (HEAD, "slurmdbd"), ("gpu-1", "slurmd"), ("gpu-2", "slurmd")]
    ask = "systemctl show -p InvocationID --value"
    return {f"{daemon} on {node}": testbed.out(node, f"{ask} {daemon}") for node, daemon in daemons}


def test_changes_without_a_restart_restart_no_daemon_and_end_no_job(testbed: Testbed) -> None:
    before = invocations(testbed)
    later = ("node removed", "driver pin")
    copied(testbed.inventory, testbed.inventory, *(slips for kind, (slips, _) in KINDS.items() if kind not in later))
    done = apply(testbed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert invocations(testbed) == before, "no daemon restarted"
    assert "gpu-3" in testbed.out(HEAD, "sinfo -h -N -p quick -o %N")
    options = testbed.out("gpu-1", "findmnt -n -o OPTIONS --mountpoint /mnt/plain").split(",")
    assert {"nosuid", "noexec"} <= {*options}, "jobs are in it, and it was remounted"
    assert plan(testbed) == {}
    copied(testbed.inventory, testbed.inventory, ("ctl,gpu-[1-3]", "ctl,gpu-[1-2]"))
    assert plan(testbed) == {HEAD: f"{RECONFIGURE}, {ARBITER}", "gpu-1": NOTHING, "gpu-2": NOTHING}
    done = apply(testbed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gpu-3" not in testbed.out(HEAD, "sinfo -h -N -o %N")
    assert running(testbed) == JOBS


@pytest.mark.parametrize(
    ("change", "costs", "restarted"),
    [
        (
            ("{KillWait:", "{AuthAltParameters: disable_token_creation, KillWait:"),
            {HEAD: "restart slurmctld", "gpu-1": "restart slurmd", "gpu-2": "restart slurmd"},
            {"slurmctld on ctl", "slurmd on gpu-1", "slurmd on gpu-2"},
        ),
        (("{DebugLevel: verbose}", "{DebugLevel: verbose, CommitDelay: 1}"), {HEAD: "restart slurmdbd"},
         {"slurmdbd on ctl"}),
    ],
)  # fmt: skip
def test_a_key_that_needs_a_restart_restarts_only_its_daemons_and_jobs_continue(
    testbed: Testbed, change: tuple[str, str], costs: dict[str, str], restarted: set[str]
) -> None:
    copied(testbed.inventory, testbed.inventory, change)
    assert plan(testbed) == costs
    before = invocations(testbed)
    done = apply(testbed)
    assert done.returncode == 0, done.stdout + done.stderr
    after = invocations(testbed)
    assert {daemon for daemon in after if after[daemon] != before[daemon]} == restarted
    assert plan(testbed) == {}
    assert running(testbed) == JOBS


#: Log lines of a daemon, or of systemd about it: it gets new files, and it works.
RELOADS, WORKS = ("Reconfigure signal", "Stopping "), ("Running as primary controller", "Started ")


def seconds_away(testbed: Testbed, daemon: str, cursor: str) -> float:
    """Return the seconds that a daemon was away after `cursor`, by the journal: from the signal until it works."""
    lines = testbed.out(HEAD, f"journalctl -u {daemon} -o json --after-cursor='{cursor}'").splitlines()
    rows = [(int(line["__MONOTONIC_TIMESTAMP"]), str(line["MESSAGE"])) for line in map(json.loads, lines)]
    logged_at = next(at for at, text in rows if any(word in text for word in RELOADS))
    return (max(at for at, text in rows if any(word in text for word in WORKS)) - logged_at) / 1e6


#: A folder that does not exist: the trial of slurm.conf cannot notice it, slurmctld dies of it.
NO_FOLDER = "JobCompType: jobcomp/filetxt, JobCompLoc: /none/x, KillWait:"


@pytest.mark.parametrize(
    ("daemon", "change", "reason"),
    [
        ("slurmctld", ("KillWait:", NO_FOLDER), "/none/x"),
        ("slurmctld", ("disable_token_creation, KillWait:", f"disable_token_creation_, {NO_FOLDER}"), "/none/x"),
        ("slurmdbd", ("DebugLevel: verbose", "PluginDir: /nonexistent"), "plugin"),
    ],
    ids=["slurmctld that reconfigures", "slurmctld that restarts", "slurmdbd"],
)  # fmt: skip
def test_a_daemon_that_does_not_start_gets_its_former_files(
    testbed: Testbed, daemon: str, change: tuple[str, str], reason: str
) -> None:
    right = (testbed.inventory / "inventory.yml").read_text()
    path = f"/etc/slurm/{'slurm.conf' if daemon == 'slurmctld' else 'slurmdbd.conf'}"
    before = testbed.out(HEAD, f"sha256sum {path}; stat -c '%U %a' {path}")
    copied(testbed.inventory, testbed.inventory, change)
    for _ in range(2):  # the next apply tries it again
        cursor = testbed.out(HEAD, "journalctl -n 0 --show-cursor").rpartition("-- cursor: ")[2]
        done = apply(testbed)
        assert done.returncode == 1, done.stdout + done.stderr
        assert reason in done.stdout
        assert "its former files are back, and it runs with them" in done.stdout
        assert testbed.out(HEAD, f"sha256sum {path}; stat -c '%U %a' {path}") == before
        assert testbed.out(HEAD, f"systemctl is-active {daemon}; sacctmgr -n show cluster format=cluster").split() == [
            "active",
            "small",
        ]
        # 30 s are promised; a slow machine may take as long as sixty starts of this command
        assert 0 < seconds_away(testbed, daemon, cursor) < max(30, 60 * start())
    (testbed.inventory / "inventory.yml").write_text(right)
    # slurmd restarts for a key that it only reads at its start, even if slurmctld failed, and once more when it is
    # undone
    later = plan(testbed)
    assert later in ({}, {"gpu-1": "restart slurmd", "gpu-2": "restart slurmd"}), "the controller has what it had"
    if later:
        assert apply(testbed).returncode == 0
    assert running(testbed) == JOBS


#: It only starts with its own number.
SPOILER = """\
mkdir -p /root/spoiler; cd /root/spoiler; echo 7 > number; echo KillWait=20 > slurm.conf
cat > /etc/systemd/system/spoiler.service <<'END'
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=grep -qx 7 /root/spoiler/number
END
systemctl daemon-reload
"""


def test_a_value_that_a_failed_reload_damages_is_restored_with_the_former_files(testbed: Testbed) -> None:
    testbed.out(HEAD, SPOILER)
    done = program("spoiler.py", testbed.inventory, HEAD)
    assert done.returncode == 0, done.stdout + done.stderr
    before = testbed.out(HEAD, "stat -c '%U %a' /root/spoiler/number")
    testbed.out(HEAD, "echo KillWait=30 > /root/spoiler/slurm.conf")
    done = program("spoiler.py", testbed.inventory, HEAD)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "cannot open it; its former files are back, and it runs with them" in done.stderr
    assert testbed.out(HEAD, "cd /root/spoiler; cat number slurm.conf; ls").split() == [
        "7", "KillWait=20", "number", "slurm.conf",
    ]  # fmt: skip
    assert testbed.out(HEAD, "stat -c '%U %a' /root/spoiler/number") == before
    testbed.out(HEAD, "systemctl stop spoiler; rm -r /root/spoiler /etc/systemd/system/spoiler.service")


def test_a_driver_is_changed_on_drained_nodes_only(testbed: Testbed) -> None:
    copied(testbed.inventory, testbed.inventory, KINDS["driver pin"][0])
    testbed.out(HEAD, "scontrol update nodename=gpu-2 state=drain reason=driver")
    done = apply(testbed)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "gpu-1: GPU driver in use: GPU driver 550.1 is not replaced, because jobs are on the node" in done.stdout
    loaded = "grep -o '[0-9.]*  now' /proc/driver/nvidia/version"
    assert [testbed.out(node, loaded).split()[0] for node in ("gpu-1", "gpu-2")] == ["550.1", "560.1"]
    assert plan(testbed)["gpu-1"] == "drain"
    assert running(testbed) == JOBS
