"""Spare nodes of a testbed: plain Debian, not in the inventory, for a trial of `onboard`."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from gpupool.cluster.model import Cluster
from gpupool.errors import TestbedError
from gpupool.testbed.bare import only_in_images
from gpupool.testbed.overlay import moved
from gpupool.testbed.spec import Spec


def with_joined(cluster: Cluster, spares: Collection[str]) -> Cluster:
    """Return the cluster with the spare nodes that have joined it in its testbed, also without `testbed.nodes`."""
    joined = [name for name in spares if name in cluster.nodes and name not in cluster.testbed_nodes]
    return replace(cluster, testbed_nodes=(*cluster.testbed_nodes, *joined)) if joined else cluster


def with_spares(spec: Spec, spares: Mapping[str, str], network: str) -> Spec:
    """Return the testbed with spare nodes, by name and address in the inventory's `network`.

    Apart from packages, they are like its last container with the role compute, so they fit the same hardware.
    TestbedError without such a container.
    """
    known = {box.name for box in spec.containers}
    like = next((box for box in reversed(spec.containers) if "compute" in box.roles and not box.machine), None)
    if spares.keys() - known and like is None:
        raise TestbedError(
            "--spare: this testbed has no container with the role compute that a spare node could be like"
        )
    boxes = [
        replace(
            like,
            name=name,
            address=moved(address, network, spec.network),
            hostname=like.hostname.replace(like.name, name, 1),
            packages=only_in_images(like),
            roles=(),
        )
        for name, address in spares.items()
        if like and name not in known
    ]
    return replace(spec, containers=(*spec.containers, *boxes), spares=dict(spares))
