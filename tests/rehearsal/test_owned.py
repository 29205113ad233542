"""Labs that own nodes, GPUs of a type, CPUs, or a number of GPUs: each gets the resources it owns."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rehearsing import Fault, finding_lines, in_file, outcomes, tried

from gpupool.rehearsal.twin import Compiled

INVENTORY = str(Path(__file__).parents[1] / "unit/owned")
CONF = "/etc/slurm/slurm.conf"


def test_each_lab_gets_what_it_owns_in_every_form() -> None:
    rehearsal = tried(INVENTORY, without=("timeout",))
    assert not outcomes(rehearsal, "broken"), finding_lines(rehearsal)
    assert {"owned", "cap", "reclaim-each", "reclaim-all"} <= outcomes(rehearsal, "kept"), finding_lines(rehearsal)


def line(partition: str, change: Callable[[str], str]) -> Fault:
    """Return the fault that changes a partition's line."""
    begins = f"PartitionName={partition} "
    return in_file(
        CONF,
        lambda text: "".join(
            change(line) if line.startswith(begins) else line for line in text.splitlines(keepends=True)
        ),
    )


def more(account: str, what: str) -> Fault:
    """Return the fault that gives an account one more than it owns."""

    def change(compiled: Compiled) -> Compiled:
        entities = copy.deepcopy(dict(compiled.entities))
        entities["accounts"][account]["GrpTRES"][what] += 1
        return replace(compiled, entities=entities)

    return change


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param(
            line("lent", lambda text: text.replace("PriorityTier=1 ", "PriorityTier=10 ")),
            "dm does not hold all that it owns",
            id="guests-in-the-owners-tier",
        ),
        pytest.param(
            line("dm", lambda text: text.replace("dm-[1-2]", "dm-1")),
            "dm: a job was refused",
            id="a-node-left-out-of-its-owners-partition",
        ),
        pytest.param(
            line("dm", lambda text: text.replace("AllowAccounts=dm", "AllowAccounts=dm,red")),
            "dm accepted a job of red",
            id="a-stranger-on-an-owners-nodes",
        ),
        pytest.param(more("chem", "cpu"), "chem runs one job beyond what it owns", id="a-cpu-too-many"),
    ],
)
def test_a_fault_in_an_owners_share_is_found(fault: Fault, message: str) -> None:
    rehearsal = tried(INVENTORY, fault=fault, only=("owned",))
    (finding,) = rehearsal.findings
    assert finding.outcome == "broken", finding_lines(rehearsal)
    assert message in finding.happened
