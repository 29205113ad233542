"""Nodes that no lab owns, on a real slurmctld: the rules that protect labs do not apply to jobs there."""

import re
from collections.abc import Iterator

import pytest
from inventories import SMALL, changed
from pace import until

from gpupool.rehearsal.twin import Ask, Job, Refusal, Twin

# gpu-1 has the GPUs of both labs, gpu-2 is for a class
CHANGES = (
    ("contributed_gpus: 10", "contributed_gpus: 5"),
    ("contributed_gpus: 6}\n", "contributed_gpus: 3}\n  - {name: class, kind: group, gid: 5003}\n"),
    ("account: red}\n", "account: red}\n  - {name: tea, uid: 20002, account: class}\n"),
    ('name: all\n    nodes: "@compute"', "name: all\n    nodes: gpu-1\n    allow_accounts: [red, blue]"),
    ('name: red\n    nodes: "@compute"', "name: red\n    nodes: gpu-1"),
    ("partitions:\n", "partitions:\n  - {name: class, nodes: gpu-2, max_time: 1d, allow_accounts: [class]}\n"),
    ("schema: 1\n", "schema: 1\nslurm: {parameters: {SchedulerParameters: bf_interval=2}}\n"),
)
OF_LABS, UNOWNED = ("ann", "--partition=all"), ("tea", "--partition=class")


@pytest.fixture(scope="module")
def twin(apart: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("unowned"), *CHANGES)) as twin:
        yield twin


@pytest.fixture
def idle(twin: Twin) -> Twin:
    twin.clear()
    return twin


def _submit(twin: Twin, place: tuple[str, str], *options: str) -> str | Refusal:
    user, partition = place
    [answer] = twin.submit([Ask(user, (partition, "--mem=10M", *options))])
    return answer


def _nice(twin: Twin, number: str | Refusal) -> int:
    [nice] = re.findall(r" Nice=(-?\d+)", twin.run(f"scontrol -o show job {number}").out)
    return int(nice)


def test_a_job_without_gpus_is_not_placed_after_jobs_with_gpus(idle: Twin) -> None:
    assert _nice(idle, _submit(idle, UNOWNED, "--hold")) == 0
    assert _nice(idle, _submit(idle, OF_LABS, "--hold")) > 0


def test_a_node_can_be_kept_for_one_user(idle: Twin) -> None:
    assert isinstance(_submit(idle, UNOWNED, "--exclusive=user"), str)
    assert isinstance(_submit(idle, OF_LABS, "--exclusive=user"), Refusal)


@pytest.mark.parametrize(("place", "state"), [(UNOWNED, "PENDING"), (OF_LABS, "RUNNING")], ids=["unowned", "of labs"])
def test_a_pending_job_without_gpus_reserves_its_node(idle: Twin, place: tuple[str, str], state: str) -> None:
    """A node has 16 CPUs for jobs without GPUs: the last job would delay the second."""
    [_, second, last] = [
        _submit(idle, place, f"--cpus-per-task={cpus}", f"--time={minutes}")
        for cpus, minutes in ((8, 60), (16, 60), (8, 240))
    ]

    def decided() -> Job | None:
        jobs = {job.array: job for job in idle.jobs()}
        job = jobs[str(last)]
        return job if job.state == "RUNNING" or (jobs[str(second)].start and job.start) else None

    assert until(decided, "the last job has a start time", lambda: str(idle.jobs())).state == state
