"""What slurmctld knows of nodes and of the jobs on them, as data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ClusterShell.NodeSet import NodeSet

from gpupool.cluster.model import Node
from gpupool.compile.slurm.names import folded
from gpupool.remote.controller import Controller, RefusedError

PREFIX = "gpupool: "  # of the reason of each drain that is ours
_REASON = re.compile(r"^(.*?)(?: \[([^@\]\s]+)@[^\]]*\])?$")
_AWAY = frozenset(("NOT_RESPONDING", "UNKNOWN"))
_OUT = frozenset(("DRAIN", "FAIL", "DOWN", "MAINTENANCE", "REBOOT_ISSUED", "REBOOT_REQUESTED", "INVALID_REG", "FUTURE"))


@dataclass(frozen=True)
class NodeState:
    """A node as slurmctld has it: the words of its state, why it is drained and who said so, what it registered with.

    `booted` and `started` (slurmd's start) are Slurm's words for the times, "None" or "" before the first. `memory` is
    in MiB, `version` slurmd's.
    """

    flags: frozenset[str]
    reason: str = ""
    by: str = ""
    booted: str = ""
    started: str = ""
    cpus: int = 0
    memory: int = 0
    gres: str = ""
    version: str = ""

    @property
    def drained(self) -> bool:
        """Whether no new job starts there because of a drain, a person's or ours."""
        return "DRAIN" in self.flags

    @property
    def in_service(self) -> bool:
        """Whether users' jobs can start there, or could if it were not full."""
        return self.answers and not _OUT & self.flags

    @property
    def answers(self) -> bool:
        """Whether its slurmd is registered and heard of."""
        return not _AWAY & self.flags

    def is_ours(self, work: str) -> bool:
        """Return whether it is drained by this work of ours, by root, and by no person since."""
        return self.drained and self.by == "root" and self.reason.startswith(f"{PREFIX}{work}: ")


@dataclass(frozen=True)
class Job:
    """A running job: its number, user, account, the Slurm names of its nodes, and until when Slurm lets it run.

    `ends` is `2026-11-23T16:00:00`, or "" for a job without a time limit.
    """

    id: str
    user: str
    account: str
    nodes: tuple[str, ...]
    ends: str


def states(controller: Controller, nodes: Sequence[Node]) -> dict[str, NodeState]:
    """Return what slurmctld knows of these nodes, by the inventory's names; a node it does not know is left out."""
    if not nodes:
        return {}
    names = folded(node.slurm_name for node in nodes)
    try:
        shown = controller.ask("scontrol", "show", "node", names)
    except RefusedError:
        # one unknown name spoils the answer for all
        shown = controller.ask("scontrol", "show", "node")
    known = read(shown)
    return {node.name: known[node.slurm_name] for node in nodes if node.slurm_name in known}


def read(shown: str) -> dict[str, NodeState]:
    """Return nodes by their names in Slurm from what `scontrol show node` prints."""
    blocks = re.split(r"^(?=NodeName=)", shown, flags=re.MULTILINE)
    return {name: _state(block) for block in blocks if (name := _word(block, "NodeName"))}


def _state(block: str) -> NodeState:
    reason = re.search(r"^\s*Reason=(.*)$", block, re.MULTILINE)
    why, by = _REASON.match(reason[1].strip()).groups() if reason else ("", "")  # type: ignore[union-attr]
    # IDLE+DRAIN, MIXED*+DRAIN; a flag may have a sign behind it, and an asterisk says that it does not respond
    state = _word(block, "State")
    flags = {re.sub(r"[^A-Z_]", "", word) for word in state.split("+")}
    return NodeState(
        frozenset(flags | ({"NOT_RESPONDING"} if "*" in state else set())),
        why,
        by or "",
        _word(block, "BootTime"),
        _word(block, "SlurmdStartTime"),
        int(_word(block, "CPUTot") or 0),
        int(_word(block, "RealMemory") or 0),
        _word(block, "Gres"),
        _word(block, "Version"),
    )


def _word(block: str, key: str) -> str:
    match = re.search(rf"(?:^|\s){key}=(\S*)", block)
    return "" if match is None or match[1] == "(null)" else match[1]


def jobs(controller: Controller, nodes: Sequence[Node]) -> tuple[Job, ...]:
    """Return the jobs that have any of these nodes, until the last of their processes has ended."""
    if not nodes:
        return ()
    states = "running,suspended,completing,configuring,stage_out,signaling,stopped"
    names = folded(node.slurm_name for node in nodes)
    output = controller.ask("squeue", "-a", "-h", "-r", "-w", names, "-t", states, "-o", "%i|%u|%a|%N|%e")
    return tuple(_job(line.split("|")) for line in output.splitlines() if line.count("|") == 4)


def _job(columns: list[str]) -> Job:
    number, user, account, nodes, ends = columns
    return Job(number, user, account, tuple(NodeSet(nodes)), "" if ends in ("N/A", "Unknown", "NOT_SET") else ends)


def by_node(known: Sequence[Job], nodes: Sequence[Node]) -> Mapping[str, tuple[Job, ...]]:
    """Return the jobs of each node, by the inventory's names."""
    return {node.name: tuple(job for job in known if node.slurm_name in job.nodes) for node in nodes}
