"""Which nodes of a testbed do not fit the inventory since its last change, and what no container shows of it."""

from contextlib import suppress

from gpupool.cluster.model import Cluster
from gpupool.cluster.resolve.pools import pools_on
from gpupool.errors import TestbedError
from gpupool.testbed import container, overlay
from gpupool.testbed.state import State


def outdated(cluster: Cluster, testbed: State) -> tuple[str, ...]:
    """Return the containers that only another `up` can create or make right; `cluster` is the testbed's stand-in.

    They lack an export, a GPU, an address or a package of another suite. Virtual machines are not compared.
    """
    if not testbed.shapes:  # started by an older version
        return ()
    with suppress(TestbedError):  # `up` reports it
        spec = overlay.spec_of(cluster, name=testbed.name, prefix=testbed.prefix)
        boxes = [box for box in spec.containers if not box.machine]
        return tuple(box.name for box in boxes if testbed.shapes.get(box.name) != container.shape(spec, box))
    return ()


def not_shown(cluster: Cluster) -> tuple[str, ...]:
    """Return the parts of the inventory of which a testbed's plan shows no change; `cluster` is its stand-in."""
    boxes = [name for name in cluster.nodes if cluster.drivers.contained(name)]
    zfs = [name for name in boxes if pools_on(cluster.storage, name, cluster.select)]
    driver = cluster.software.cuda and any(node.nvidia_minors for node in cluster.nodes.values())
    return (*(["GPU driver"] if driver else []), *([f"ZFS of {', '.join(zfs)}"] if zfs else []))
