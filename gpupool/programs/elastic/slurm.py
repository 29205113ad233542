"""Slurm's part: what it knows of nodes, and marking one that did not come."""

from gpupool.node import commands
from gpupool.slurm import nodes, ping

#: A controller that takes longer than this to answer, in seconds, has other worries.
_SLOW = 20


class SlurmError(Exception):
    """Why Slurm gave no answer, in one line."""


def states(host: str) -> dict[str, set[str]]:
    """Return the words of each node's state; SlurmError unless the slurmctld of this host is the active one."""
    if not ping.is_active(_output_of("scontrol", "ping"), host):
        raise SlurmError("this controller is not the active one")
    return {name: set(state.flags) for name, state in nodes.read(_output_of("scontrol", "show", "nodes")).items()}


def mark_down(node: str, reason: str) -> None:
    """Set a node down, which requeues its jobs, and have slurmctld wish it off: it waits for the node no more.

    The node gets no job until an admin resumes it.
    """
    _output_of("scontrol", "update", f"NodeName={node}", "State=DOWN", f"Reason={nodes.reason_of('elastic')}{reason}")
    _output_of("scontrol", "update", f"NodeName={node}", "State=POWER_DOWN")


def _output_of(*command: str) -> str:
    return commands.output_of(command, _SLOW, SlurmError)
