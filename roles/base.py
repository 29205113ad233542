"""What every node has: its name, everybody's addresses, the time zone, the time, packages."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.packages import packages_for
from gpupool.operations import files, names, packages, service, slurm


def apply(cluster: Cluster, node: Node) -> None:
    """Names first: everything after them may need to find another node."""
    own = files_of(cluster, node, "base")
    if node != cluster.controllers[0]:
        slurm.costs_no_jobs(name="Nodes that jobs are on", first=cluster.controllers[0].name, files=own)
    files.put(name="Names", files=own)
    names.host_name(name="Host name", hostname=node.name)
    packages.installed(name="Packages", packages=list(packages_for(cluster, node)))
    files.put(name="Time zone", links={"/etc/localtime": f"/usr/share/zoneinfo/{cluster.entry.timezone}"})
    if not cluster.drivers.contained(node.name):
        # a container has the time of the machine under it
        service.running(name="Time", unit="systemd-timesyncd")
