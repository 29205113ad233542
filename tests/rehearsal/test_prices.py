"""The price of GPUs by their type on a real slurmctld: a job pays for its allocated GPUs."""

import re
from collections.abc import Iterator

import pytest
from inventories import SMALL, changed
from pace import until

from gpupool.rehearsal.twin import Ask, Refusal, Twin

NODES = '  - {name: "gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute], hardware: box, gpus: {a40: 8}}\n'
TWO = """  - {name: gpu-1, address: 10.90.2.1, roles: [compute], hardware: box, gpus: {a40: 8}}
  - {name: gpu-2, address: 10.90.2.2, roles: [compute], hardware: box, gpus: {h100: 8}}
"""
SAID = (
    ("a40: {models: [A40]}", "a40: {models: [A40]}\n  h100: {models: [H100]}"),
    (NODES, TWO),
    ("gid: 5001", "gid: 5001, limits: {group_minutes: {billing: 3000}}"),
    ("max_time: 4h\n", "max_time: 4h\n    billing: {cpu: 0.5, gpus: {a40: 2, h100: 10}}\n"),
    ("max_time: 2d\n", "max_time: 2d\n    billing: {gpus: {a40: 1, h100: 1}}\n"),
)


@pytest.fixture(scope="module")
def twin(apart: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("prices"), *SAID)) as twin:
        yield twin


def _ask(twin: Twin, *options: str) -> str | Refusal:
    [answer] = twin.submit([Ask("ann", ("-p", "red", "--mem=10M", *options))])
    return answer


def _charged(twin: Twin, number: str | Refusal) -> list[str]:
    return re.findall(r"AllocTRES=\S*billing=(\d+)", twin.run(f"scontrol -o show job {number}").out)


@pytest.mark.parametrize(
    ("options", "units"),
    [
        (("-w", "gpu-1", "--gpus=1", "-c", "2"), "3"),
        (("-w", "gpu-2", "--gpus=1", "-c", "2"), "11"),
        (("--gpus=h100:2", "-c", "2"), "21"),
        (("-w", "gpu-1", "-c", "4"), "2"),
    ],
)
def test_a_job_pays_for_its_allocated_type(twin: Twin, options: tuple[str, ...], units: str) -> None:
    number = _ask(twin, "--time=5", *options)
    assert until(lambda: _charged(twin, number), "the job runs", lambda: str(twin.jobs())) == [units]


def test_an_expensive_type_uses_the_minutes_sooner(twin: Twin) -> None:
    assert isinstance(_ask(twin, "--gpus=a40:4", "--time=200", "--hold"), str)
    assert isinstance(_ask(twin, "--gpus=h100:4", "--time=200", "--hold"), Refusal), "8,000 of 3,000"
