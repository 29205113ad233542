"""What a plan says that a change costs, what apply then does, and a daemon that does not come up. No job dies."""

import json
from collections.abc import Iterator

import pytest
from inventories import SMALL, copied
from pace import until

from gpupool.target import find_target
from tests.testbed.cluster import Testbed, gpupool

NETWORK = "10.181.0.0/16"
HEAD = "ctl"
JOBS = 6  # of the lab's own
#: Lines of the small inventory as this cluster has them.
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
        "slurm: {parameters: {KillWait: 20}, slurmdbd: {parameters: {DebugLevel: info}}}\nqos:",
    ),
    ('testbed: {nodes: "ctl,gpu-1"}', 'testbed: {nodes: "ctl,gpu-[1-3]"}'),
)
WITHOUT_3 = ("ctl,gpu-[1-3]", "ctl,gpu-[1-2]")
NOTHING, RECONFIGURE = "nothing", "reconfigure"
#: Kinds of change: what is replaced by what, and what that leads to on each node that changes.
KINDS = {
    "new user": (
        ("  - {name: ann, uid: 20001, account: red}", "  - {name: ann, uid: 20001, account: red}\n"
         "  - {name: eve, uid: 20009, account: red}"),
        {HEAD: NOTHING, "gpu-1": NOTHING, "gpu-2": NOTHING},
    ),
    "cap changed": (("contributed_gpus: 6", "contributed_gpus: 5"), {HEAD: NOTHING}),
    "partition time": (("max_time: 2d", "max_time: 3d"), {HEAD: RECONFIGURE}),
    "new partition": (
        ("partitions:\n", 'partitions:\n  - {name: quick, nodes: "@compute", max_time: 1h}\n'),
        {HEAD: RECONFIGURE},
    ),
    "node added": (
        ("ctl,gpu-[1-2]", "ctl,gpu-[1-3]"),
        {HEAD: RECONFIGURE, "gpu-1": NOTHING, "gpu-2": NOTHING, "gpu-3": "start"},
    ),
    "node removed": (("ctl,gpu-[1-2]", "ctl,gpu-1"), {HEAD: RECONFIGURE, "gpu-1": NOTHING}),
    "gres count": (
        ('gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 8}}',
         'gpu-1", address: "10.90.2.1", roles: [compute], hardware: box, gpus: {a40: 8}}\n'
         '  - {name: "gpu-2", address: "10.90.2.2", roles: [compute], hardware: box, gpus: {a40: 7}}'),
        {HEAD: RECONFIGURE, "gpu-2": NOTHING},
    ),
    "prolog text": (("COURSE: old", "COURSE: new"), {"gpu-1": NOTHING, "gpu-2": NOTHING}),
    "scheduler parameter": (
        ("{KillWait: 20}", "{KillWait: 20, SchedulerParameters: bf_window=2880}"), {HEAD: RECONFIGURE}
    ),
    "slurmdbd setting": (("DebugLevel: info", "DebugLevel: verbose"), {HEAD: "reload slurmdbd"}),
    # a container's mounts are binds without options, and it has no driver: what these cost is in tests/operations/cases
    # (mounts.mounted, driver.installed, driver.settled)
    "mount option": (("[nosuid]", "[nosuid, noexec]"), {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A cluster of two compute nodes, with a third at hand, and jobs on the first."""
    inventory = copied(SMALL, tmp_path_factory.mktemp("price") / "small", *BASE)
    done = gpupool("testbed", "up", inventory, "--network", NETWORK)
    assert done.returncode == 0, done.stderr
    try:
        copied(inventory, inventory, WITHOUT_3)
        it = Testbed(inventory, find_target(inventory, "testbed"))
        done = it.apply()
        assert done.returncode == 0, done.stdout + done.stderr
        job = "sbatch --uid ann -D / -o /dev/null -p all -w gpu-1 --gpus 1 --mem 1G --wrap 'sleep 3000'"
        it.out(HEAD, f"for n in $(seq {JOBS}); do {job}; done")
        until(lambda: running(it) == JOBS, "jobs run", lambda: it.out(HEAD, "squeue"))
        yield it
    finally:
        gpupool("testbed", "down", inventory)


def running(testbed: Testbed) -> int:
    """Count jobs that run and never did anything else."""
    jobs = json.loads(testbed.out(HEAD, "squeue --json"))["jobs"]
    return sum(job["job_state"] == ["RUNNING"] and job["restart_cnt"] == 0 for job in jobs)


def plan(testbed: Testbed) -> dict[str, str]:
    """Return what a plan says that each node's changes lead to."""
    done = gpupool("plan", testbed.inventory, "--on", "testbed", "--json")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    hosts = json.loads(done.stdout)["hosts"]
    return {name: host["effect"] for name, host in hosts.items() if host["changes"]}


def test_each_kind_of_change_has_its_price(testbed: Testbed) -> None:
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


def test_applied_all_at_once_no_daemon_restarts_and_no_job_dies(testbed: Testbed) -> None:
    invocations = "systemctl show -p InvocationID --value slurmctld slurmdbd"
    before = testbed.out(HEAD, invocations), testbed.out("gpu-1", "systemctl show -p InvocationID --value slurmd")
    copied(testbed.inventory, testbed.inventory, *(it for kind, (it, _) in KINDS.items() if kind != "node removed"))
    done = testbed.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    after = testbed.out(HEAD, invocations), testbed.out("gpu-1", "systemctl show -p InvocationID --value slurmd")
    assert after == before, "no daemon restarted"
    assert "gpu-3" in testbed.out(HEAD, "sinfo -h -N -p quick -o %N")
    assert plan(testbed) == {}
    copied(testbed.inventory, testbed.inventory, ("ctl,gpu-[1-3]", "ctl,gpu-[1-2]"))
    assert plan(testbed) == {HEAD: RECONFIGURE, "gpu-1": NOTHING, "gpu-2": NOTHING}
    done = testbed.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gpu-3" not in testbed.out(HEAD, "sinfo -h -N -o %N")
    assert running(testbed) == JOBS


@pytest.mark.parametrize(
    ("daemon", "change", "reason"),
    [
        ("slurmctld", ("{KillWait:", "{JobCompType: jobcomp/filetxt, JobCompLoc: /none/x, KillWait:"), "/none/x"),
        ("slurmdbd", ("DebugLevel: verbose", "PluginDir: /nonexistent"), "plugin"),
    ],
)  # fmt: skip
def test_a_daemon_that_does_not_come_up_is_back_with_its_former_files(
    testbed: Testbed, daemon: str, change: tuple[str, str], reason: str
) -> None:
    right = (testbed.inventory / "inventory.yml").read_text()
    path = f"/etc/slurm/{'slurm.conf' if daemon == 'slurmctld' else 'slurmdbd.conf'}"
    before = testbed.out(HEAD, f"sha256sum {path}; stat -c '%U %a' {path}")
    copied(testbed.inventory, testbed.inventory, change)
    for _ in range(2):  # the next apply tries it again
        done = testbed.apply()
        assert done.returncode == 1, done.stdout + done.stderr
        assert reason in done.stdout
        assert "its former files are back, and it runs with them" in done.stdout
        assert testbed.out(HEAD, f"sha256sum {path}; stat -c '%U %a' {path}") == before
        assert testbed.out(HEAD, f"systemctl is-active {daemon}; sacctmgr -n show cluster format=cluster").split() == [
            "active",
            "small",
        ]
    assert running(testbed) == JOBS
    (testbed.inventory / "inventory.yml").write_text(right)
    assert plan(testbed) == {}
