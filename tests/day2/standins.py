"""The command line for nodes of a testbed, with another package as the GPU driver, and with mounts that have options.

A package replaces the driver, of the branch in STANDIN_DRIVER or else in the inventory; tmpfs replaces the export of a
server, as a bind mount cannot have options. Roles, files and operations are the real ones.
"""

import os

from gpupool import wanted
from gpupool.cluster.drivers import drivers
from gpupool.cluster.model import Cluster
from gpupool.cluster.mount import Mount
from gpupool.cluster.node import Node
from gpupool.compile.system import driver, storage
from gpupool.upkeep import reboot
from gpupool.wanted import GpuDriver

_bound = storage._stand_in


def driver_for(cluster: Cluster, node: Node) -> GpuDriver | None:
    chosen = drivers(cluster.software, cluster.select, lambda name: cluster.nodes[name].system)
    declared = (driver.branch for driver in chosen if node.name in driver.nodes)
    branch = os.environ.get("STANDIN_DRIVER") or next(declared, None)
    return GpuDriver(branch, None, ("nvidia-standin",)) if node.gpus and branch else None


def in_memory(cluster: Cluster, mount: Mount, path: str) -> wanted.Mount:
    if path != mount.at:
        return _bound(cluster, mount, path)
    return wanted.Mount(path, mount.source, "tmpfs", ",".join(("noatime", *mount.entry.options)))


if __name__ == "__main__":
    driver.driver_for = driver_for
    storage._stand_in = in_memory
    reboot.ensure_can_reboot = lambda cluster, nodes: None  # a test switches the containers on again
    # imported after the replacements, as roles import them by name
    from gpupool.cli import main

    main()
