"""Limits in minutes on a real slurmctld of each version: past usage counts; no time limit is no refusal."""

import re
from collections.abc import Iterator

import pytest
from inventories import SMALL, changed
from pace import until
from rehearsing import RELEASES

from gpupool.rehearsal.twin import Ask, Refusal, Twin

SAID = (
    ("gid: 5001", "gid: 5001, limits: {group_minutes: {gpu: 100000}, per_user_minutes: {cpu: 5000}}"),
    ("{default: true}", "{default: true}\n  short: {max_wall: 1h}"),
    (
        "{name: ann, uid: 20001, account: red}",
        "{name: ann, uid: 20001, account: red}\n  - {name: bea, uid: 20002, account: red}",
    ),
)


@pytest.fixture(scope="module", params=RELEASES)
def twin(apart: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    folder = tmp_path_factory.mktemp("minutes")
    with Twin.start(changed(SMALL, folder, *SAID), version=request.param) as twin:
        yield twin


def _ask(twin: Twin, *options: str, user: str = "ann") -> str | Refusal:
    [answer] = twin.submit([Ask(user, ("--mem=10M", *options))])
    return answer


def _limit(twin: Twin, number: str | Refusal) -> list[str]:
    return re.findall(r" TimeLimit=(\S+)", twin.run(f"scontrol -o show job {number}").out)


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        (("-p", "red", "--gpus=1"), "04:00:00"),
        (("-p", "all", "--gpus=1"), "2-00:00:00"),
        (("--gpus=1",), "2-00:00:00"),
        (("-p", "all,red", "--gpus=1"), "04:00:00"),
        (("-p", "red", "--gpus=1", "--qos=short"), "01:00:00"),
        (("-p", "red", "--gpus=1", "--time=90"), "01:30:00"),
    ],
)
def test_a_job_without_a_time_is_accepted(twin: Twin, options: tuple[str, ...], limit: str) -> None:
    number = _ask(twin, *options, "--hold")
    assert isinstance(number, str), number
    assert _limit(twin, number) == [limit]


def test_the_minutes_of_one_user_delay_that_user(twin: Twin) -> None:
    twin.clear()
    assert isinstance(_ask(twin, "-p", "all", "-c", "8", "--time=1000"), Refusal), "8,000 minutes of 5,000"
    first = _ask(twin, "-p", "all", "-c", "4", "--time=1000")
    until(lambda: [job for job in twin.jobs() if job.array == first and job.state == "RUNNING"], "the first runs")
    second = _ask(twin, "-p", "all", "-c", "4", "--time=1000")
    other = _ask(twin, "-p", "all", "-c", "4", "--time=1000", user="bea")
    until(lambda: [job for job in twin.jobs() if job.array == other and job.state == "RUNNING"], "bea's own runs")

    def reasons() -> list[str]:
        jobs = [job for job in twin.jobs() if job.array == second]
        return [job.reason for job in jobs if job.state == "PENDING" and job.reason.startswith("Assoc")]

    assert until(reasons, "ann's second waits for a limit", lambda: str(twin.jobs())) == ["AssocGrpCPUMinutesLimit"]
