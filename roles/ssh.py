"""sshd's settings: passwords or not, agents, variables that clients may send."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import files, service


def apply(cluster: Cluster, node: Node) -> None:
    """A drop-in; sshd reads it again without ending anybody's session."""
    own = files_of(cluster, node, "ssh")
    files.put(name="SSH", files=own)
    service.running(name="SSH daemon", unit="ssh", reload_if=[file.path for file in own])
