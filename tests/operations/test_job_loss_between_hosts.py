"""A slurm.conf that would end jobs is refused on the controller, and then on every other host."""

from typing import Any

from origin import ORIGIN
from pyinfra import host
from pyinfra.api import deploy

from gpupool.engine.drive import NodeHost, Report, run
from gpupool.facts.script import END
from gpupool.operations import slurm
from gpupool.wanted import File

FIRST = "@fake/control"  # pyinfra's name of a fake host
CONF = File("/etc/slurm/slurm.conf", "new")
QUEUE = ["answers", "P|PartitionName=long", "J|7|RUNNING|ada|lab|normal|long||"]
JOBS, NOT_CHANGED = "Slurm would end 1 job", "everything else is not changed"


def node(name: str, *groups: str) -> NodeHost:
    # a fake host accepts every command: these two are refusals, and the other fact only exists on control
    responses: dict[str, Any] = {reason: {"success": False, "stderr": reason} for reason in (JOBS, NOT_CHANGED)}
    responses |= {"squeue": [*QUEUE, END], "timeout": [END]}
    return NodeHost(name, groups, {"fake_delay": 0, "fake_delay_jitter": 0, "fake_responses": responses}, "fake")


@deploy("Slurm")
def slurm_conf() -> None:
    if host.name == FIRST:
        slurm.refuse_job_loss(name="jobs", files=[CONF], partitions=["short"], nodes=[])
    if host.name != FIRST:
        slurm.costs_no_jobs(name="others", first=FIRST, files=[CONF])


def ran(execute: bool) -> Report:
    return run([node("control"), node("n1")], slurm_conf, execute=execute, origin=ORIGIN)


def test_a_refused_run_changes_no_other_host() -> None:
    assert ran(execute=True).failures == {"control": f"Slurm | jobs: {JOBS}", "n1": f"Slurm | others: {NOT_CHANGED}"}


def test_a_plan_names_the_refusal_once() -> None:
    report = ran(execute=False)
    assert list(report.failures) == ["control"]
    assert JOBS in report.failures["control"]


@deploy("Slurm")
def accepted() -> None:
    slurm.require_accepted_by(name="tried", first="dead", files=[CONF])


def test_an_unreachable_host_delays_no_other() -> None:
    dead = NodeHost("dead", (), {"ssh_hostname": "127.0.0.1", "ssh_port": 1, "ssh_user": "root"})
    assert list(run([dead, node("n1")], accepted, execute=True, origin=ORIGIN).failures) == ["dead"]
    assert list(run([dead, node("n1")], accepted, execute=False, origin=None).failures) == ["dead"]
