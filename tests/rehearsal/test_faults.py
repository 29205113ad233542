"""The rehearsal finds exactly the faults that are put into the compiled data, after every check."""

import copy
import json
import re
from dataclasses import replace

import pytest
from rehearsing import Fault, finding_lines, in_file, outcomes, tried

from gpupool.compile.slurm.arbiter import SETTINGS
from gpupool.rehearsal.twin import Compiled

CONF = "/etc/slurm/slurm.conf"
RECLAIM = {"reclaim-array", "reclaim-each", "reclaim-all", "requeue", "speed"}


def partition(name: str, pattern: str, instead: str) -> Fault:
    """Return the fault that changes a partition's line."""

    def change(text: str) -> str:
        lines = [
            re.sub(pattern, instead, line) if line.startswith(f"PartitionName={name} ") else line
            for line in text.splitlines()
        ]
        return "\n".join(lines) + "\n"

    return in_file(CONF, change)


def line(key: str, value: str) -> Fault:
    """Return the fault that sets a key of slurm.conf."""
    return in_file(CONF, lambda text: re.sub(rf"(?m)^{key}=.*$", f"{key}={value}", text))


def one_gpu_too_many(compiled: Compiled) -> Compiled:
    """Give vision-lab one GPU more than it has contributed."""
    entities = copy.deepcopy(dict(compiled.entities))
    entities["accounts"]["vision-lab"]["GrpTRES"]["gres/gpu"] += 1
    return replace(compiled, entities=entities)


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        pytest.param(partition("overcap", r"PriorityTier=\d+", "PriorityTier=80"), RECLAIM, id="overcap-among-owners"),
        pytest.param(
            line("AccountingStorageEnforce", "associations,qos"),
            {"cap", "per-user", "walls", "debug-goes-first", "hostile-user"},
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
    assert outcomes(rehearsal, "broken") == broken, finding_lines(rehearsal)


def without_rule(name: str) -> Fault:
    """Return the fault that removes a rule from the submit plugin's list."""
    row = rf'(?m)^  {{ data = "{name}", .*\n'
    return in_file("/etc/slurm/job_submit.lua", lambda text: re.sub(row, "", text))


def without_guard(compiled: Compiled) -> Compiled:
    """Remove the limits from the arbiter's settings."""
    settings = json.loads(compiled.files[SETTINGS])
    del settings["bounds"]
    return replace(compiled, files={**compiled.files, SETTINGS: json.dumps(settings)})


def more_jobs(compiled: Compiled) -> Compiled:
    """Remove the users' limit on submitted jobs."""
    entities = copy.deepcopy(dict(compiled.entities))
    for qos in entities["qos"].values():
        qos.pop("MaxSubmitPU", None)
    for user in entities["users"].values():
        for account in user["accounts"].values():
            account.pop("MaxSubmit", None)
            account.pop("GrpSubmit", None)
    return replace(compiled, entities=entities)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param(
            without_rule("preemptable_partitions"),
            "a heterogeneous job, of which one component is preemptable",
            id="components",
        ),
        pytest.param(without_rule("most_memory"), "memory of many tasks for one CPU: sbatch accepted it", id="memory"),
        pytest.param(without_guard, "times the allowed memory was not stopped: RUNNING", id="guard"),
        pytest.param(more_jobs, "may have more than 2000 jobs", id="submitted-jobs"),
    ],
)
def test_a_permission_for_a_hostile_user_is_found(fault: Fault, message: str) -> None:
    rehearsal = tried("example", fault=fault, only=("hostile-user",))
    (finding,) = rehearsal.findings
    assert finding.outcome == "broken"
    assert message in finding.happened
