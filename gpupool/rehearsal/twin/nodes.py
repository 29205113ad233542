"""Scripts that wait for nodes of a twin, kill them and restore them."""

from gpupool.shell import shell_file, values

IDLE = shell_file(__package__, "nodes_idle.sh")


def lose(node: str) -> str:
    """Return the script that kills a node's slurmd and all its jobs, and sets the node down in slurmctld."""
    return values(node=node) + _LOSE


def restore(node: str) -> str:
    """Return the script that starts a node's slurmd again and waits until the node accepts or runs jobs."""
    return values(node=node) + _RESTORE


_LOSE = shell_file(__package__, "nodes_lose.sh")

_RESTORE = shell_file(__package__, "nodes_restore.sh")
