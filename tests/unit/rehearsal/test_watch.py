"""The record of owners' jobs in a rehearsal: interruptions by Slurm, and by the guard."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from gpupool.rehearsal.twin.jobs import Job
from gpupool.rehearsal.watch import Watch

OWNERS = SimpleNamespace(name="short")
RUNNING = Job("7", "u-kira1", "vision-lab", "short", "normal", "RUNNING", "None", 1, 1, ("rtx-01",), 0, 100.0, 60)
HELD = replace(RUNNING, state="PENDING", reason="job requeued in held state", nodes=(), restarts=1)


@pytest.fixture
def watch() -> Watch:
    cluster = SimpleNamespace(users={}, nodes={})
    expected: Any = SimpleNamespace(owner_partitions=(OWNERS,), preemptable=(), cluster=cluster, pool=8)
    return Watch(expected)


def test_an_owners_job_that_returns_to_the_queue_is_recorded(watch: Watch) -> None:
    watch.record([RUNNING])
    watch.record([HELD])
    assert watch.disturbed == {"7": "7 of u-kira1 was preempted (job requeued in held state)"}


def test_a_hostile_job_that_the_guard_stops_is_no_interruption(watch: Watch) -> None:
    watch.hostile.add("7")
    watch.record([RUNNING])
    watch.record([HELD])
    assert not watch.disturbed
    assert not watch.owner_starts
