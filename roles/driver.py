"""The GPU driver, and the check of a node's GPUs. A testbed has neither, because its GPUs are stand-ins."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.driver import DEVICES_UNIT, driver_for
from gpupool.compile.system.driver_packages import PATTERNS
from gpupool.compile.system.repositories import COMPONENTS
from gpupool.operations import driver, files, service, sources
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes with GPUs."""
    return bool(node.gpus)


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install pins before the packages, and device files before slurmd. A driver in use by jobs is not changed."""
    own = files_of(cluster, node, "driver")
    wanted = driver_for(cluster, node)
    if wanted:
        system = node.system
        sources.components(
            name=f"Components of {system.name}",
            origin=system.origin,
            codename=system.codename,
            names=list(system.components),
            path=COMPONENTS,
        )
        sources.refreshed(name="Lists of components", paths=[COMPONENTS])
    if own:
        files.put(name="GPU check and pins", files=own)
    if wanted:
        driver.installed(name="GPU driver", driver=wanted, node=node.slurm_name, patterns=PATTERNS.split())
        service.at_boot(name="GPU devices at boot", units=[DEVICES_UNIT.rpartition("/")[2]])


@where(applies)
def check_driver(cluster: Cluster, node: Node) -> None:
    """Fail if the driver waits for a drain or a reboot; late, to delay no other step."""
    wanted = driver_for(cluster, node)
    if wanted:
        driver.settled(name="GPU driver in use", driver=wanted, node=node.slurm_name, patterns=PATTERNS.split())
