"""Each refusal in the code is foreseen in a plan by a case of `cases/`, or is listed with the reason why it cannot be.

A plan sends nodes no changes (tests/roles/test_site.py), and an apply asks the same on all nodes before its first
change (tests/engine/test_refusals_first.py). So a foreseen refusal leaves all nodes as they are.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyinfra.api.exceptions import OperationError
from test_operation_cases import CASES, run

from gpupool import operations
from gpupool.operations.frame import Refused

FOLDER = Path(operations.__file__).parent
#: Module, function and the beginning of the message of refusals that no plan can foresee, with the reason.
NOT_FORESEEN = {
    "accounting.entities: ": "a name that forges rows is removed first; this is refused if slurmdbd keeps it",
    "accounting.entities: cannot query slurmdbd:": "the same run may start slurmdbd",
    "accounting.entities: slurmdbd does not know": "the same run may start slurmctld, which gives slurmdbd its TRES",
    "answers.server_required: answers at": "the same run may start the servers",
    "driver.settled: GPU driver": "the same run may install the driver; the reason is a reboot, and it stops nothing",
    "munge.key: cannot read the munge key from": "the source has answered before",
    "rekey.accepted: does not accept munge credentials of thi": "a step of rekey, after the key was replaced",
    "rekey.replaced: the key is not replaced: slurmctld may s": "a step of rekey, after slurmctld was stopped",
    "rekey.stored: cannot read the new munge key from": "a step of rekey, after the new key was made",
    "reservations.reserved: cannot ask slurmctld for its reservation": "the same run may start slurmctld",
    "restore.read_again: slurmctld is left alone:": "the step before has failed in the same run",
    "slurm.costs_no_jobs: and everything else is not changed: the": "a job was submitted after the plan",
    "slurm.require_accepted_by: is not changed:": "the first controller has failed in the same run",
    "slurm_user.refuse_another_number: ": "it compares two nodes: test_slurm_user_between_hosts shows it in a plan",
    "slurm_upgrade.installed: package files have disappeared since the": "they were there in the step before",
    "zfs._working: ZFS does not work here:": "the same run may install ZFS",
}


def refusals() -> dict[tuple[str, int], str]:
    """Return module, function and the beginning of the message of each `raise Refused`, by file and line."""
    found = {}
    for file in sorted(FOLDER.rglob("*.py")):
        tree = ast.parse(file.read_text())
        module = ".".join(file.relative_to(FOLDER).with_suffix("").parts).removesuffix(".__init__")
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for call in _raised(function):
                    found[str(file), call.lineno] = f"{module}.{function.name}: {_beginning(call)}"
    return found


def _raised(function: ast.FunctionDef) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            raised = node.exc.func
            if isinstance(raised, ast.Name) and raised.id == "Refused":
                yield node.exc


def _beginning(call: ast.Call) -> str:
    """Return the first words of the message that the code has as text."""
    texts = (node.value for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant))
    return next((text.strip()[:40].strip() for text in texts if isinstance(text, str) and len(text) > 4), "")


@pytest.fixture
def raised_at(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, int]]:
    """The file and line of each Refused that is raised in the test."""
    lines: set[tuple[str, int]] = set()
    create = Refused.__init__

    def noted(self: Refused, *args: Any) -> None:
        frame = sys._getframe(1)
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        create(self, *args)

    monkeypatch.setattr(Refused, "__init__", noted)
    return lines


def plan(case: Path) -> None:
    """Run the operation of a case in a plan until it refuses, if the case is one of a plan that refuses."""
    data = yaml.safe_load(case.read_text())
    if "refused" not in data or data.get("executing"):
        return
    with pytest.raises(OperationError):
        run(case, data)


def test_a_plan_foresees_each_refusal_of_the_code(raised_at: set[tuple[str, int]]) -> None:
    for case in CASES:
        plan(case)
    there = refusals()
    unforeseen = {text for place, text in there.items() if place not in raised_at}
    assert unforeseen == set(NOT_FORESEEN), "write a case of a plan, or the reason why no plan can foresee it"
    assert raised_at <= set(there)
