"""Limits on memory beside a default memory for each GPU, on a real slurmctld of each version."""

from collections.abc import Iterator

import pytest
from inventories import SMALL, changed
from pace import until
from rehearsing import RELEASES

from gpupool.rehearsal.twin import Ask, Job, Refusal, Twin

LIMIT = "{mem: 100G}"  # a node has 512G
ACCOUNTS = f"""contributed_gpus: 3, limits: {{group: {LIMIT}}}}}
  - {{name: teal, kind: lab, gid: 5003, contributed_gpus: 3, limits: {{per_user: {LIMIT}}}}}
  - {{name: lime, kind: lab, gid: 5004, contributed_gpus: 3, limits: {{per_job: {LIMIT}}}}}
"""
USERS = """{name: ann, uid: 20001, account: red}
  - {name: bea, uid: 20002, account: blue}
  - {name: cem, uid: 20003, account: teal}
  - {name: dan, uid: 20004, account: lime}
"""
PARTITIONS = f"""partitions:
  - {{name: user, nodes: "@compute", max_time: 1d, limits: {{per_user: {LIMIT}}}}}
  - {{name: job, nodes: "@compute", max_time: 1d, limits: {{per_job: {LIMIT}}}}}
"""
QOS = f"""{{default: true}}
  user: {{limits: {{per_user: {LIMIT}}}}}
  account: {{limits: {{per_account: {LIMIT}}}}}
"""
CHANGES = (
    ("contributed_gpus: 10", "contributed_gpus: 4"),
    ("contributed_gpus: 6}\n", ACCOUNTS),
    ("{name: ann, uid: 20001, account: red}\n", USERS),
    ("partitions:\n", PARTITIONS),
    ("{default: true}\n", QOS),
)
PLACES = {
    "partition, per user": ("ann", "--partition=user"),
    "partition, per job": ("ann", "--partition=job"),
    "QoS, per user": ("ann", "--qos=user"),
    "QoS, per account": ("ann", "--qos=account"),
    "account, group": ("bea", "--partition=all"),
    "account, per user": ("cem", "--partition=all"),
    "account, per job": ("dan", "--partition=all"),
}


@pytest.fixture(scope="module", params=RELEASES)
def twin(apart: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("memory"), *CHANGES), version=request.param) as twin:
        yield twin


def _running(twin: Twin, number: str) -> Job:
    def look() -> Job | None:
        return next((job for job in twin.jobs() if job.array == number and job.state == "RUNNING"), None)

    return until(look, "the job runs", lambda: str(twin.jobs()))


@pytest.mark.parametrize("place", PLACES)
def test_a_job_without_a_memory_request_gets_the_default_of_its_gpus(twin: Twin, place: str) -> None:
    user, option = PLACES[place]
    twin.clear()
    [default, more] = twin.submit(
        [Ask(user, (option, "--gpus=3")), Ask(user, (option, "--gpus=3", "--mem-per-gpu=40G"))]
    )
    assert isinstance(default, str), default
    assert _running(twin, default).mem == 3 * 30 * 1024
    assert isinstance(more, Refusal), "120G of 100G"
