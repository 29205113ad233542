"""Numbers and sizes in requests of users, and in their changes, are limited on a real slurmctld of each version."""

import re
from collections.abc import Iterator

import pytest
from inventories import SMALL, changed
from rehearsing import RELEASES

from gpupool.compile.slurm.priority import step_down
from gpupool.rehearsal.twin import Ask, Refusal, Twin

CHANGES = (
    ("{default: true}", "{default: true}\n  short: {}\n  long: {}"),
    ("scheduler: {", "scheduler: {max_submitted_jobs: 20, "),
)


@pytest.fixture(scope="module", params=RELEASES)
def twin(apart: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("door"), *CHANGES), version=request.param) as twin:
        yield twin


def _held(twin: Twin, *options: str) -> str | Refusal:
    [answer] = twin.submit([Ask("ann", ("--hold", "--mem=10M", *options))])
    return answer


def _nice(twin: Twin, job: str | Refusal) -> int:
    [nice] = re.findall(r" Nice=(-?\d+)", twin.run(f"scontrol -o show job {job}").out)
    return int(nice)


def test_a_user_has_no_more_jobs_in_several_qos_than_in_one(twin: Twin) -> None:
    twin.clear()
    assert isinstance(_held(twin, "--qos=normal", "--array=1-12"), str)
    assert isinstance(_held(twin, "--qos=short", "--array=1-12"), Refusal)
    assert isinstance(_held(twin, "--qos=short", "--array=1-8"), str)
    assert isinstance(_held(twin, "--qos=long"), Refusal)


@pytest.mark.parametrize("options", [(), ("--nice=2147483645",)], ids=str)
@pytest.mark.parametrize("change", ["Nice=0", "Nice=1", "Nice=2147483645", "Nice=-1", "Partition=all", "NumNodes=1"])
def test_no_nice_value_puts_a_job_without_gpus_before_those_with_some(
    twin: Twin, options: tuple[str, ...], change: str
) -> None:
    twin.clear()
    least = step_down(twin.cluster)
    assert least
    job = _held(twin, "--partition=all", *options)
    assert _nice(twin, job) >= least
    twin.run(f"scontrol update jobid={job} {change}", "ann")
    assert _nice(twin, job) >= least


def test_a_script_is_limited_by_slurm_itself(twin: Twin) -> None:
    twin.run("mv /etc/slurm/job_submit.lua /root; printf 'return slurm.SUCCESS' > /etc/slurm/job_submit.lua")
    try:
        twin.run("scontrol reconfigure")
        [answer] = twin.submit([Ask("ann", body="#!/bin/sh\n#" + "x" * 600_000)])
        assert isinstance(answer, Refusal)
    finally:
        twin.run("mv /root/job_submit.lua /etc/slurm; scontrol reconfigure")
