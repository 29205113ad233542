"""systemd's word on each unit that apply starts, and space for what daemons write."""

from pathlib import PurePath

import pytest

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system import images
from gpupool.compile.units import timed, units
from gpupool.verify.scope import not_checked, only_if
from gpupool.verify.state import ClusterState
from gpupool.verify.survey import Space

_LEAST_PART = 0.01
_LEAST_BYTES = 1 << 30


def test_daemons_run(cluster: Cluster, node: Node, state: ClusterState) -> None:
    only_if(units(cluster, node))
    states = state.of(node).units
    problems = [problem for unit in units(cluster, node) if (problem := states[unit].problem)]
    assert not problems, "; ".join(problems)


def test_services_of_timers_have_not_failed(cluster: Cluster, node: Node, state: ClusterState) -> None:
    only_if(timed(cluster, node))
    states = state.of(node).units
    failed = {unit: states[unit].problem for unit in timed(cluster, node) if states[unit].has_failed}
    if cluster.drivers.gpu == "fake" and [*failed] == [PurePath(images.SERVICE).name]:
        not_checked("container images are not fetched: a testbed may have no way to their registries")
    assert not failed, "; ".join(failed.values())


@pytest.mark.manages("controller", "database", "compute")
def test_file_systems_of_daemons_have_space(node: Node, state: ClusterState) -> None:
    faults = {fault: path for path, space in state.of(node).spaces.items() if (fault := _full(space))}
    assert not faults, "; ".join(f"{path} is full: {fault} (remove files)" for fault, path in faults.items())


def _full(space: Space) -> str:
    if space.size and space.free < min(_LEAST_BYTES, _LEAST_PART * space.size):
        return f"{space.free >> 20} MiB of {space.size >> 20} MiB are free"
    if space.inodes and space.free_inodes < _LEAST_PART * space.inodes:
        return f"{space.free_inodes} of {space.inodes} inodes are free"
    return ""
