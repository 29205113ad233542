"""Slurm: read the states of nodes, and mark a node that did not join."""

from gpupool.node import commands
from gpupool.slurm import nodes, ping

_SECONDS = 20  # time limit for each answer of slurmctld


class SlurmError(Exception):
    """A command of Slurm failed or timed out; the message is one line."""


def states(host: str) -> dict[str, set[str]]:
    """Return the flags of each node's state; SlurmError unless the slurmctld of this host is the active one."""
    if not ping.is_active(_output_of("scontrol", "ping"), host):
        raise SlurmError("this controller is not the active one")
    return {name: set(state.flags) for name, state in nodes.read(_output_of("scontrol", "show", "nodes")).items()}


def mark_down(node: str, reason: str) -> None:
    """Set a node down, which requeues its jobs, and power it down, so that slurmctld does not wait for it any more.

    The node gets no job until an admin resumes it.
    """
    _output_of("scontrol", "update", f"NodeName={node}", "State=DOWN", f"Reason={nodes.reason_of('elastic')}{reason}")
    _output_of("scontrol", "update", f"NodeName={node}", "State=POWER_DOWN")


def _output_of(*command: str) -> str:
    return commands.output_of(command, _SECONDS, SlurmError)
