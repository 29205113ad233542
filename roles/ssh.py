"""sshd's settings (passwords, agents, variables of clients), and the host keys of all nodes."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system import site_files
from gpupool.compile.system.ssh import SETTINGS, names_of_nodes, settings, tried_users
from gpupool.operations import files, host_keys, sshd
from gpupool.roles import everywhere, where

applies = everywhere


@where(everywhere)
def apply(cluster: Cluster, node: Node) -> None:
    """Install sshd's drop-in, which sshd reads without ending sessions, then the known host keys of all nodes."""
    own = files_of(cluster, node, "ssh")
    files.put(name="SSH", files=own)
    theirs = site_files.reloads(cluster, node).get(site_files.SSH, [])
    unit = node.system.units["ssh"]
    sshd.running(name="SSH daemon", unit=unit, reload_if=[*(file.path for file in own), *theirs])
    host_keys.known(name="Known hosts", nodes=names_of_nodes(cluster), source=cluster.controllers[0].name)


@where(everywhere)
def check_settings(cluster: Cluster, node: Node) -> None:
    """Fail if another file overrides settings of the drop-in, for root or a user; late, because an admin mends it."""
    sshd.in_force(name="SSH settings", path=SETTINGS, text=settings(cluster, node), users=tried_users(cluster))
