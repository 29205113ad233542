"""sshd's settings: passwords or not, agents, variables that clients may send; and the host keys of all nodes."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.ssh import names_of_nodes
from gpupool.operations import files, host_keys, service
from gpupool.roles import everywhere

applies = everywhere


def apply(cluster: Cluster, node: Node) -> None:
    """A drop-in, which sshd reads again without ending anybody's session; then what ssh checks other nodes by."""
    own = files_of(cluster, node, "ssh")
    files.put(name="SSH", files=own)
    service.running(name="SSH daemon", unit="ssh", reload_if=[file.path for file in own])
    host_keys.known(name="Known hosts", nodes=names_of_nodes(cluster), source=cluster.controllers[0].name)
