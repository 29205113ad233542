"""Nodes of a twin: waited for, lost and restored, as shell text."""

from gpupool.shell import shell_file, values

IDLE = shell_file(__package__, "nodes_idle.sh")


def lose(node: str) -> str:
    """Return the text that kills a node's slurmd and all its jobs, and tells slurmctld what it would find out late."""
    return values(node=node) + _LOSE


def restore(node: str) -> str:
    """Return the text that starts a node's slurmd again and waits until the node takes jobs, or has some."""
    return values(node=node) + _RESTORE


_LOSE = shell_file(__package__, "nodes_lose.sh")

_RESTORE = shell_file(__package__, "nodes_restore.sh")
