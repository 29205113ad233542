"""What users' sessions may take: open files, and on heads a share of CPU, memory and processes."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.sessions import watched
from gpupool.operations import files, service

# a share holds at once, for open sessions too; logind reads its own file when it gets this signal
_READ_AGAIN = ["sh", "-c", "systemctl daemon-reload && systemctl kill --signal=HUP systemd-logind"]


def apply(cluster: Cluster, node: Node) -> None:
    """Nothing where the inventory has no such policy. No session ends because of it."""
    if own := files_of(cluster, node, "sessions"):
        files.put(name="Sessions", files=own)
    if paths := watched(cluster, node):
        service.running(
            name="Shares of users", unit="systemd-logind", enabled=None, reload_if=paths, reload_command=_READ_AGAIN
        )
