"""Names as Slurm's files write them."""

from collections.abc import Iterable

from ClusterShell.NodeSet import NodeSet

from gpupool.cluster.model import Cluster

SLURMCTLD_PORT = 6817  # Slurm's own default, slurm.conf(5)
SPOOL = "/var/spool/slurmd"  # where slurmd keeps the folders of running jobs


def folded(names: Iterable[str]) -> str:
    """Return node names as a hostlist; Slurm knows brackets at the end of a name only, so others are written out."""
    numbered: list[str] = []
    rest: list[str] = []
    for name in names:
        (numbered if name[-1:].isdigit() and "." not in name else rest).append(name)
    hostlist = [str(NodeSet.fromlist(numbered))] if numbered else []
    return ",".join([*hostlist, *rest])


def minutes(seconds: int) -> int:
    """Return seconds as the whole minutes that Slurm counts partition times in, never less than asked."""
    return -(-seconds // 60)


def wall(seconds: int) -> str:
    """Return seconds as sacctmgr prints a wall time: `2-00:00:00`, `04:00:00`."""
    days, rest = divmod(minutes(seconds) * 60, 86400)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:00"
    return f"{days}-{clock}" if days else clock


def servers(cluster: Cluster) -> list[str]:
    """Return where the controllers are, the primary first."""
    return [node.address or node.name for node in cluster.controllers]
