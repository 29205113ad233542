"""A rehearsal of an inventory for its tests, with or without a fault."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import full
import pytest

from gpupool.cluster.load import load
from gpupool.rehearsal.promises import PROMISES
from gpupool.rehearsal.run import Rehearsal, rehearse
from gpupool.rehearsal.scenarios.promises import promises
from gpupool.rehearsal.twin import Compiled, Twin, compiled, of_version
from gpupool.slurm.releases import DEFAULT, TESTED, Tested

INVENTORIES = Path(__file__).parents[2] / "inventory"
Fault = Callable[[Compiled], Compiled]
#: Parameters of tests and fixtures: the default release of Slurm, and in the long form the other tested ones.
RELEASES = [pytest.param(release, marks=() if release == DEFAULT else full.only) for release in TESTED]


def tried(
    name: str,
    *,
    fault: Fault | None = None,
    version: Tested | None = None,
    without: Collection[str] = (),
    only: Collection[str] = (),
) -> Rehearsal:
    """Rehearse an inventory of this repository; a fault changes the compiled data, not the expectations."""
    inventory = INVENTORIES / name
    cluster = load(inventory)
    cluster = of_version(cluster, version or cluster.slurm.version)
    extra = promises(inventory, cluster)
    wanted = compiled(cluster)
    faulty = fault(wanted) if fault else wanted
    assert fault is None or faulty != wanted
    chosen = set(only) or {promise.key for promise in (*PROMISES, *extra)} - set(without)
    with Twin.start(cluster, faulty, version) as twin:
        return rehearse(twin, cluster, only=chosen, extra=extra)


def outcomes(rehearsal: Rehearsal, *which: str) -> set[str]:
    """Return the promises with one of these outcomes."""
    return {finding.promise for finding in rehearsal.findings if finding.outcome in which}


def finding_lines(rehearsal: Rehearsal) -> str:
    """Return every finding on a line, to explain why a test failed."""
    return "\n".join(
        f"{finding.promise}: {finding.outcome}: {finding.tried}: {finding.happened}" for finding in rehearsal.findings
    )


def in_file(path: str, change: Callable[[str], str]) -> Fault:
    """Return the fault that changes one file."""
    return lambda compiled: replace(compiled, files={**compiled.files, path: change(compiled.files[path])})
