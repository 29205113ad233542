"""What Slurm keeps of nodes that sleep: the digest of what each shall be, in its `Extra`."""

from gpupool.facts.elastic import Stamps
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.work import Work


@operation
def stamped(stamps: dict[str, str]) -> Commands:
    """Have slurmctld keep a digest for each node, by the node's name in Slurm."""
    work = Work()
    now = look(Stamps, "the nodes from slurmctld")
    for node, digest in stamps.items():
        if now.get(node) != digest:
            diff = f"{now.get(node) or 'none'} becomes {digest}"
            work.do(f"{node}: what it shall be", diff, "scontrol", "update", f"NodeName={node}", f"Extra={digest}")
    yield from work.carry_out("stamps of nodes that sleep: as wanted", "set -e")
