"""Convert the scenarios of a site to promises."""

from pathlib import Path

from gpupool.cluster.model import Cluster
from gpupool.rehearsal.promises.base import Promise
from gpupool.rehearsal.scenarios.attempt import attempt
from gpupool.rehearsal.scenarios.data import Scenario
from gpupool.rehearsal.scenarios.read import scenarios


def promises(inventory: Path, cluster: Cluster) -> list[Promise]:
    """Return the promises in INVENTORY/rehearsal/*.yml; BadInventoryError with every complaint about them."""
    return [_promise(scenario) for scenario in scenarios(inventory, cluster)]


def _promise(scenario: Scenario) -> Promise:
    return Promise(
        scenario.name,
        scenario.promise,
        (),
        lambda _expected: None,
        lambda stage: attempt(stage, scenario.steps),
    )
