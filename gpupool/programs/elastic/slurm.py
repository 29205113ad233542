"""Slurm's part: what it knows of nodes, and marking one that did not come."""

import re
import subprocess

from gpupool.slurm import nodes

#: A controller that takes longer than this to answer, in seconds, has other worries.
_SLOW = 20
_PING = re.compile(r"Slurmctld\(\w+\) at (\S+) is (UP|DOWN)")


class SlurmError(Exception):
    """Why Slurm gave no answer, in one line."""


def states(host: str) -> dict[str, set[str]]:
    """Return the words of each node's state; SlurmError unless the slurmctld of this host is the active one."""
    up = [name for name, state in _PING.findall(_ask("scontrol", "ping")) if state == "UP"]
    if not up or up[0].partition(".")[0] != host.partition(".")[0]:
        raise SlurmError("this controller is not the active one")
    return {name: set(state.flags) for name, state in nodes.read(_ask("scontrol", "show", "nodes")).items()}


def mark_down(node: str, reason: str) -> None:
    """Set a node down, which requeues its jobs, and have slurmctld wish it off: it waits for the node no more.

    The node gets no job until an admin resumes it.
    """
    _ask("scontrol", "update", f"NodeName={node}", "State=DOWN", f"Reason={nodes.reason_of('elastic')}{reason}")
    _ask("scontrol", "update", f"NodeName={node}", "State=POWER_DOWN")


def _ask(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SLOW, check=False)
    except subprocess.TimeoutExpired as slow:
        raise SlurmError(f"{' '.join(command[:2])}: no answer within {_SLOW} s") from slow
    except OSError as gone:
        raise SlurmError(f"{command[0]}: {gone.strerror}") from gone
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()
        raise SlurmError(f"{' '.join(command[:3])}: {last[-1] if last else f'exit {done.returncode}'}")
    return done.stdout
