"""Slurm's state of elastic nodes: whether a node is powered up, and its digest in its `Extra`."""

from gpupool.change import Aspect, Kind
from gpupool.facts.elastic import OwnState, Stamps
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.work import Work


@operation
def joined(node: str) -> Commands:
    """Restart slurmd if slurmctld has this node as powered down.

    slurmctld ignores the registration of a slurmd that starts while the node is being powered down.
    """
    work = Work(Kind.SERVICE)
    if "POWERED_DOWN" in look(OwnState, "the node's state from slurmctld", node=node):
        differs = Aspect("on in Slurm", "off in Slurm", note="the node is powered down in slurmctld")
        work.differs("slurmd.service", differs, act="restart")
        work.run("systemctl", "restart", "slurmd")
    yield from work.carry_out("slurmctld knows that the node is on")


@operation
def stamped(stamps: dict[str, str]) -> Commands:
    """Have a digest in the `Extra` of each node in slurmctld, by the node's name in Slurm."""
    work = Work(Kind.OTHER)
    now = look(Stamps, "the nodes from slurmctld")
    for node, digest in stamps.items():
        if now.get(node) != digest:
            differs = Aspect(digest, now.get(node) or "none")
            work.do(
                f"{node}: its digest",
                differs,
                "scontrol",
                "update",
                f"NodeName={node}",
                f"Extra={digest}",
            )
    yield from work.carry_out("stamps of nodes that sleep: as wanted", "set -e")
