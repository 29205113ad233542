"""The command line for nodes that are containers, although the inventory was adopted and knows of none."""

from dataclasses import replace
from typing import Any

import gpupool.target
from gpupool.cluster.model import Cluster
from gpupool.target import Target
from gpupool.testbed.host import host_cgroups

_target_of = gpupool.target.target_of


def _as_adopted(cluster: Cluster, *arguments: Any) -> Target:
    drivers = replace(cluster.drivers, cgroup=host_cgroups(), shared="/testbed", cpus="claimed")
    return _target_of(replace(cluster, drivers=drivers), *arguments)


gpupool.target.target_of = _as_adopted

from gpupool.cli import main  # noqa: E402  # commands take the function above

main()
