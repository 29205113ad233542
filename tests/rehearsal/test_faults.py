"""The rehearsal finds what is wrong, and nothing else: faults are put into the compiled data, after every check."""

import copy
import re
from dataclasses import replace

import pytest
from rehearsing import Fault, in_file, outcomes, told, tried

from gpupool.rehearsal.twin import Compiled

CONF = "/etc/slurm/slurm.conf"
RECLAIM = {"reclaim-array", "reclaim-each", "reclaim-all", "requeue", "speed"}


def partition(name: str, pattern: str, instead: str) -> Fault:
    """Give the fault that changes a partition's line."""

    def change(text: str) -> str:
        lines = [
            re.sub(pattern, instead, line) if line.startswith(f"PartitionName={name} ") else line
            for line in text.splitlines()
        ]
        return "\n".join(lines) + "\n"

    return in_file(CONF, change)


def line(key: str, value: str) -> Fault:
    """Give the fault that sets a key of slurm.conf."""
    return in_file(CONF, lambda text: re.sub(rf"(?m)^{key}=.*$", f"{key}={value}", text))


def one_gpu_too_many(it: Compiled) -> Compiled:
    """Give vision-lab a GPU that it has not contributed."""
    entities = copy.deepcopy(dict(it.entities))
    entities["accounts"]["vision-lab"]["GrpTRES"]["gres/gpu"] += 1
    return replace(it, entities=entities)


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        pytest.param(partition("overcap", r"PriorityTier=\d+", "PriorityTier=80"), RECLAIM, id="overcap-among-owners"),
        pytest.param(
            line("AccountingStorageEnforce", "associations,qos"),
            {"cap", "per-user", "walls", "debug-goes-first"},
            id="no-enforcement",
        ),
        pytest.param(one_gpu_too_many, {"cap"}, id="a-cap-one-too-high"),
        pytest.param(line("PreemptType", "preempt/qos"), RECLAIM | {"debug-goes-first"}, id="preempt-by-qos"),
        pytest.param(
            partition("short", " DenyAccounts=overcap", ""), {"overcap-account"}, id="overcap-account-in-short"
        ),
    ],
)
@pytest.mark.promise("SKY-034", "SKY-036", "SKY-119", "SKY-121")
def test_a_fault_breaks_exactly_its_promises(fault: Fault, broken: set[str]) -> None:
    rehearsal = tried("example", fault=fault, without=("timeout",))
    assert outcomes(rehearsal, "broken") == broken, told(rehearsal)
