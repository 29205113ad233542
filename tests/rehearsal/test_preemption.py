"""Preemption on a real slurmctld, and the preempted jobs: by the tiers of partitions, and by QoS."""

from collections.abc import Iterator

import pytest
from inventories import SMALL, changed
from pace import until

from gpupool.rehearsal.twin import Ask, Job, Twin

POT = ("users:\n", "  - {name: pot, kind: shared, members: all}\nusers:\n")
CPUS = ("gpus: {a40: 8}}", "gpus: {a40: 8}}\n  - {name: cpu-1, address: 10.90.2.9, roles: [compute], hardware: box}")
OWNERS = ("max_time: 2d", "max_time: 2d\n    deny_accounts: [pot]")
BY_PARTITION = """
  - {name: again, nodes: "@gpu:a40", tier: 0, allow_accounts: [pot], preemptable: true, grace: 5m}
  - {name: gone, nodes: "@gpu:a40", tier: 0, allow_accounts: [pot], preemptable: true, preempt_action: cancel}
  - {name: slow, nodes: cpu-1, tier: 0, preemptable: true, preempt_action: suspend}
  - {name: fast, nodes: cpu-1, tier: 9}
scheduler: {"""
QOS = """{default: true, preempts: [again, gone, patient]}
  again: {preemptable: true, grace: 5m, default_for: [pot]}
  gone: {preemptable: true, preempt_action: cancel}
  patient: {preemptable: true, priority: 1000}"""
BY_QOS = """
  - {name: guests, nodes: "@compute", qos: [again, gone], allow_accounts: [pot]}
scheduler: {"""


@pytest.fixture(scope="module")
def by_partition(apart: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    changes = (POT, CPUS, OWNERS, ("\nscheduler: {", BY_PARTITION))
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("partitions"), *changes)) as twin:
        yield twin


@pytest.fixture(scope="module")
def by_qos(apart: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    changes = (POT, OWNERS, ("{default: true}", QOS), ("\nscheduler: {", BY_QOS))
    with Twin.start(changed(SMALL, tmp_path_factory.mktemp("qos"), *changes)) as twin:
        yield twin


def _ask(twin: Twin, *options: str) -> str:
    [number] = twin.submit([Ask("ann", ("--nodes=1", "--mem=10M", "--time=60", *options))])
    assert isinstance(number, str), number
    return number


def _job(twin: Twin, number: str) -> Job | None:
    return next((job for job in twin.jobs() if job.id == number), None)


def _runs(twin: Twin, number: str) -> bool:
    job = _job(twin, number)
    return job is not None and job.state == "RUNNING"


def _running(twin: Twin, *options: str) -> str:
    number = _ask(twin, *options)
    until(lambda: _runs(twin, number), f"{number} runs", lambda: str(twin.jobs()))
    return number


def _runs_again_later(twin: Twin, number: str) -> bool:
    job = _job(twin, number)
    return job is not None and job.restarts == 1


def _ended(twin: Twin, number: str) -> str:
    until(lambda: _job(twin, number) is None, f"{number} ends", lambda: str(twin.jobs()))
    return twin.history([number])[number]


def test_each_partition_has_its_preempt_action(by_partition: Twin) -> None:
    by_partition.clear()
    again, gone = (
        _running(by_partition, "-A", "pot", "-p", partition, "-w", "gpu-1", "-G4") for partition in ("again", "gone")
    )
    _running(by_partition, "-p", "all", "-w", "gpu-1", "-G8")
    assert _runs_again_later(by_partition, again)
    assert _ended(by_partition, gone) == "PREEMPTED"


def test_a_suspended_job_continues(by_partition: Twin) -> None:
    by_partition.clear()
    slow = _running(by_partition, "-p", "slow", "-n1", "-c64")
    fast = _running(by_partition, "-p", "fast", "-n1", "-c64")
    stopped = _job(by_partition, slow)
    assert stopped is not None
    assert stopped.state == "SUSPENDED"
    by_partition.run(f"scancel {fast}")
    until(lambda: _runs(by_partition, slow), "the suspended job runs", lambda: str(by_partition.jobs()))
    job = _job(by_partition, slow)
    assert job is not None
    assert (job.restarts, job.start) == (0, stopped.start)


def test_a_qos_preempts_only_the_qos_that_it_names(by_qos: Twin) -> None:
    by_qos.clear()
    guest = ("-A", "pot", "-p", "guests", "-w", "gpu-1", "-G4")
    again, gone = _running(by_qos, *guest), _running(by_qos, *guest, "--qos=gone")
    other = _running(by_qos, "-p", "all", "-w", "gpu-2", "-G2")
    patient = _ask(by_qos, "-p", "all", "-w", "gpu-1", "-G8", "--qos=patient")

    def waits() -> bool:
        job = _job(by_qos, patient)
        return job is not None and job.state == "PENDING" and job.reason in ("Resources", "Priority")

    until(waits, "the patient job waits for GPUs", lambda: str(by_qos.jobs()))
    assert all(_runs(by_qos, job) for job in (again, gone, other))
    _running(by_qos, "-p", "all", "-w", "gpu-1", "-G8")
    assert _runs_again_later(by_qos, again)
    assert _ended(by_qos, gone) == "PREEMPTED"
    assert _runs(by_qos, other)
