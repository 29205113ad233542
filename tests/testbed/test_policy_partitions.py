"""Priority, spill-over and refusal by partition (sections G, I and M of the promises)."""

from collections.abc import Iterator

import pytest
from pace import until

from tests.testbed.cluster import Testbed


@pytest.fixture
def two_gpus_each(idle: Testbed) -> Iterator[Testbed]:
    """Set cvmlp's limit of 16 GPUs for each user to 2, which a testbed can fill; an apply would restore it."""
    modify = "sacctmgr -iQ modify qos cvmlp-user-limits set MaxTRESPU=gres/gpu={}"
    # slurmctld shows limits per user only for users who have had a job
    job = idle.submit("u-cvmlp1", "-p short --gres=gpu:1")
    idle.wait_for(job, "RUNNING")
    try:
        idle.out("marvin", modify.format(2))
        shown = "scontrol show assoc_mgr flags=qos qos=cvmlp-user-limits"
        until(lambda: "gres/gpu=2(" in idle.out("marvin", shown), "slurmctld knows the limit")
        idle.out("marvin", f"scancel {job}")
        yield idle
    finally:
        idle.out("marvin", modify.format(16))
    assert idle.plan() == (0, {})


@pytest.mark.promise("SKY-125", "SKY-130", "SKY-208", "SKY-209")
def test_excess_jobs_of_a_user_run_in_user_overcap(two_gpus_each: Testbed) -> None:
    testbed = two_gpus_each
    jobs = [testbed.submit("u-cvmlp1", "-p short,user-overcap --gres=gpu:1") for _ in range(3)]
    ran = [testbed.wait_for(job, "RUNNING")["Partition"] for job in jobs]
    assert sorted(ran) == ["short", "short", "user-overcap"]
    # short, long and the lab's own partition count together
    for partition in ("short", "long", "cvmlp-lab"):
        waits = testbed.submit("u-cvmlp1", f"-p {partition} --gres=gpu:1")
        testbed.wait_for(waits, "PENDING", "QOSMaxGRESPerUser")
    testbed.wait_for(testbed.submit("u-cvmlp1", "-p user-overcap --gres=gpu:1"), "RUNNING")
    testbed.wait_for(testbed.submit("u-cvmlp2", "-p short --gres=gpu:1"), "RUNNING")


@pytest.mark.promise("SKY-156", "SKY-157")
def test_debug_starts_before_short_and_short_before_long(idle: Testbed) -> None:
    whole = f"-w vicki --gres=gpu:{idle.cluster.nodes['vicki'].gpu_count}"
    blocks = idle.submit("u-cvmlp1", f"-p short {whole}")
    idle.wait_for(blocks, "RUNNING")
    long = idle.submit("u-kira1", f"-p long {whole}")
    short = [idle.submit("u-hoffman1", f"-p short {whole}") for _ in range(10)]
    debug = idle.submit("u-nlprx1", f"-p debug {whole}")
    idle.out("marvin", f"scancel {blocks}")
    idle.wait_for(debug, "RUNNING")
    states = "squeue -h -t PD -o %A"
    assert set(idle.out("marvin", states).split()) == {long, *short}
    idle.out("marvin", f"scancel {debug}")
    until(lambda: len(idle.out("marvin", states).split()) == 10, "the next one starts")
    assert long in idle.out("marvin", states).split()
    idle.out("marvin", f"scancel {' '.join(short)}")
    idle.wait_for(long, "RUNNING")
