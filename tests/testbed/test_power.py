"""Power comes back in any order, and the cluster starts without help (the promise of Restart= and of -b)."""

from functools import partial

import pytest
from pace import until

from tests.testbed.cluster import Testbed

DAEMONS = {"controller": "slurmctld", "database": "slurmdbd", "compute": "slurmd", "head": "sackd"}
LOCKED = "mariadb -N -e \"select 1 from information_schema.innodb_trx where trx_state = 'LOCK WAIT'\""


def names(testbed: Testbed) -> list[str]:
    return [node.name for node in testbed.target.nodes]


def usable(testbed: Testbed) -> bool:
    """Return whether every compute node is idle and runs a job of a user."""
    output = testbed.run("sky1", "sinfo -h -N -o '%N %t' | sort -u", "u-kira1")
    states = dict(line.split() for line in output.stdout.splitlines()) if output.returncode == 0 else {}
    return bool(states) and set(states.values()) == {"idle"} and len(states) == 5


def are(states: set[str], testbed: Testbed, name: str) -> bool:
    """Return whether the Slurm daemons of a node are in one of these states of systemd."""
    node = testbed.cluster.nodes[name]
    units = [unit for role, unit in DAEMONS.items() if node.has(role)]
    done = testbed.run(name, f"systemctl show -P ActiveState {' '.join(units or ['ssh'])}")
    return done.returncode == 0 and set(done.stdout.split()) <= states


def given_back(testbed: Testbed) -> bool:
    """Return whether marvin is the controller again; resolve a deadlock of Slurm as docs/operations.md describes."""
    if testbed.out("marvin", LOCKED):
        testbed.out("marvin", "systemctl restart slurmdbd")
    return "primary) at marvin is UP" in testbed.run("sky1", "scontrol ping").stdout


@pytest.mark.promise("SKY-023")
@pytest.mark.parametrize("order", ["nodes first, controller last", "controller first, nodes last"])
def test_cold_power_on_needs_no_manual_work(idle: Testbed, order: str) -> None:
    controllers = ["marvin", "vicki"]
    others = [name for name in names(idle) if name not in controllers]
    later = controllers[::-1] if order.startswith("nodes first") else others
    first = others if order.startswith("nodes first") else controllers
    job = idle.submit("u-kira1", "-p kira-lab -w a40-01", "true")
    idle.wait_for(job, "COMPLETED")

    # left by a crash: slurmd would refuse a job with this number
    left = "/var/spool/slurmd/job00007"
    idle.out("a40-01", f"mkdir {left} && touch {left}/slurm_script /var/spool/slurmd/kept")

    idle.switch_off(*names(idle))
    idle.switch_on(*first)
    for name in first:
        until(partial(are, {"active", "activating"}, idle, name), f"the daemons of {name} run, or ask for the others")
    for name in later:
        idle.switch_on(name)

    until(lambda: usable(idle), f"{order}: all nodes are idle again")
    for name in names(idle):
        until(partial(are, {"active"}, idle, name), f"the daemons of {name} run")
    assert idle.out("sky1", "srun -p debug --gres=gpu:1 hostname", "u-kira1")
    # slurmctld and slurmdbd have kept their state
    assert idle.out("marvin", f"sacct -n -X -j {job} -o State").strip() == "COMPLETED"
    assert idle.run("a40-01", f"test -e {left}").returncode == 1
    idle.out("a40-01", "rm /var/spool/slurmd/kept")
    assert idle.plan() == (0, {})


@pytest.mark.promise("SKY-023")
def test_the_backup_controller_takes_over_and_returns_control(idle: Testbed) -> None:
    job = idle.submit("u-kira1", "-p kira-lab -w a40-01", "sleep 3600")
    idle.wait_for(job, "RUNNING")
    idle.out("marvin", "systemctl stop slurmctld")
    try:
        until(lambda: "backup) at vicki is UP" in idle.run("vicki", "scontrol ping").stdout, "vicki answers")
        until(
            lambda: idle.run("sky1", f"squeue -h -j {job} -o %t", "u-kira1").stdout.strip() == "R",
            "the job runs on",
        )
        assert idle.out("sky1", "sbatch --parsable -o /dev/null --wrap hostname", "u-kira1")
        assert idle.out("sky1", "srun -w vicki hostname", "u-kira1") == "vicki"
    finally:
        idle.out("marvin", "systemctl start slurmctld")
    until(lambda: given_back(idle), "marvin is back")
    until(lambda: idle.run("marvin", f"squeue -h -j {job} -o %t").stdout.strip() == "R", "marvin knows the job")
