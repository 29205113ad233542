"""Ask nodes whether they need a reboot, and reboot them through Slurm, which waits for their jobs."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.errors import GpupoolError, UsageError
from gpupool.remote.controller import Controller, NoAnswerError, RefusedError
from gpupool.shell import shell_file
from gpupool.slurm.nodes import reason

_SCRIPT = shell_file(__package__, "reboot.sh")
_SECONDS = 30.0
_AT_ONCE = 16


@dataclass(frozen=True)
class Boot:
    """The time of a node's boot, in Unix time by its own clock, and why it needs a reboot ("" if it does not)."""

    at: int
    needs: str = ""


def ensure_can_reboot(cluster: Cluster, nodes: Sequence[Node]) -> None:
    """Raise UsageError if some of these nodes are containers, which a reboot only stops."""
    if boxes := [node.name for node in nodes if cluster.drivers.contained(node.name)]:
        raise UsageError(
            f"--reboot: {', '.join(boxes)}: a container of a testbed does not reboot (leave --reboot out, or start "
            f"virtual machines: gpupool testbed up --vm {','.join(boxes)})"
        )


def boots(controller: Controller, nodes: Sequence[Node]) -> Mapping[str, Boot | None]:
    """Return the last boot of each node; None for a node that does not answer."""

    def ask(node: Node) -> Boot | None:
        try:
            at, _, needs = controller.output_on(node.name, "sh", "-c", _SCRIPT, seconds=_SECONDS).strip().partition(" ")
            return Boot(int(at), needs)
        except (GpupoolError, ValueError):
            return None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip((node.name for node in nodes), pool.map(ask, nodes), strict=True))


def reboot(controller: Controller, node: Node, work: str) -> None:
    """Reboot a drained node without jobs through Slurm, or by systemd on the node if Slurm has no RebootProgram."""
    why = f"reason={reason(work, 'reboot')}"
    try:
        controller.ask("scontrol", "reboot", "ASAP", "nextstate=resume", why, node.slurm_name)
    except RefusedError:
        # the connection may end before the answer
        with suppress(NoAnswerError):
            controller.output_on(node.name, "systemctl", "reboot", seconds=_SECONDS)
