"""A partition's limit for each account on a real slurmctld: one account reaches it, and another is not affected."""

from collections.abc import Iterator

import pytest
from inventories import SMALL, changed
from pace import until

from gpupool.rehearsal.run import rehearse
from gpupool.rehearsal.twin import Ask, Twin

SAID = (
    (
        "{name: ann, uid: 20001, account: red}",
        "{name: ann, uid: 20001, account: red}\n  - {name: bob, uid: 20002, account: blue}",
    ),
    (
        "\nscheduler: {",
        '\n  - {name: narrow, nodes: "@compute", max_time: 1d, limits: {per_account: {gpu: 4}}}\nscheduler: {',
    ),
)


@pytest.fixture(scope="module")
def twin(apart: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("each"), *SAID)) as twin:
        yield twin


def test_each_account_reaches_its_limit_and_no_more(twin: Twin) -> None:
    twin.clear()
    job = ("-p", "narrow", "--gpus=1", "--mem=10M", "--time=60")
    twin.submit([*(Ask("ann", job) for _ in range(5)), *(Ask("bob", job) for _ in range(5))])

    def running() -> list[str]:
        return sorted(job.user for job in twin.jobs() if job.state == "RUNNING")

    def reasons() -> set[str]:
        return {job.reason for job in twin.jobs() if job.state == "PENDING"}

    def settled() -> bool:
        return len(running()) >= 8 and reasons() == {"MaxGRESPerAccount"}

    until(settled, "eight run and two wait", lambda: str(twin.jobs()))
    assert running() == ["ann"] * 4 + ["bob"] * 4


def test_beside_the_limit_a_lab_reaches_its_cap(twin: Twin) -> None:
    twin.clear()
    [finding] = rehearse(twin, twin.cluster, only={"cap"}).findings
    assert finding.outcome == "kept", finding
