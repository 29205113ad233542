"""The command line where a package stands in for the GPU driver of a testbed's nodes: STANDIN_DRIVER is its branch.

Roles, files and operations are the driver's own; only which packages it is made of is another.
"""

import os

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.system import driver
from gpupool.wanted import GpuDriver


def driver_for(cluster: Cluster, node: Node) -> GpuDriver | None:
    return GpuDriver(os.environ["STANDIN_DRIVER"], None, ("nvidia-standin",)) if node.gpus else None


if __name__ == "__main__":
    driver.driver_for = driver_for
    # only now: roles take it by name
    from gpupool.cli import main

    main()
