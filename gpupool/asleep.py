"""Nodes that are off because they are idle: no command takes them for lost, and none ends while they are worked on."""

import re
import socket
import subprocess
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpupool.target import Target

if TYPE_CHECKING:
    from gpupool.cluster.model import Node

_ANSWER_SECONDS = 5.0  # for a connection to a node that is on; one without an answer may still be on, and slow
_SLURM_SECONDS = 60.0
_OFTEN = 3  # times within cloud.idle_after
_STATE = re.compile(r"^NodeName=(\S+) .*?\bState=(\S+)", re.MULTILINE)
_OFF = frozenset(("POWERED_DOWN", "POWERING_DOWN"))


def asleep(target: Target, names: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the elastic nodes (among `names`) that do not answer, and that Slurm has switched off."""
    nodes = _elastic(target, names)
    silent = [node for node, answers in zip(nodes, _answers(target, nodes), strict=True) if not answers]
    states = _states(target, silent)
    return tuple(node.name for node in silent if states.get(node.slurm_name, frozenset()) & _OFF)


@contextmanager
def awake(target: Target, names: Collection[str] | None) -> Iterator[None]:
    """Keep these nodes from being switched off meanwhile, as an apply changes them."""
    cloud, nodes = target.cluster.cloud, _elastic(target, names)
    if cloud is None or not nodes:
        yield
        return
    over = threading.Event()

    def keep() -> None:
        _count_anew(target, nodes)
        while not over.wait(cloud.idle_after / _OFTEN):
            _count_anew(target, nodes)

    keeper = threading.Thread(target=keep, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()


def _count_anew(target: Target, nodes: "Sequence[Node]") -> None:
    """Have Slurm count from now how long these nodes are idle; others than idle ones are left as they are."""
    from gpupool.compile.slurm.names import folded

    states = _states(target, nodes)
    idle = [node.slurm_name for node in nodes if states.get(node.slurm_name, frozenset()) == {"IDLE", "CLOUD"}]
    if idle:
        _ask(target, f"scontrol update nodename={folded(idle)} state=idle")


def _elastic(target: Target, names: Collection[str] | None) -> "list[Node]":
    return [node for node in target.nodes if node.elastic and (names is None or node.name in names)]


def _answers(target: Target, nodes: "Sequence[Node]") -> list[bool]:
    if not nodes:
        return []
    port = int(target.ssh.get("ssh_port") or 22)

    def answers(node: "Node") -> bool:
        try:
            socket.create_connection((node.address or "", port), _ANSWER_SECONDS).close()
        except OSError:
            return False
        return True

    with ThreadPoolExecutor(min(len(nodes), 64)) as pool:
        return list(pool.map(answers, nodes))


def _states(target: Target, nodes: "Sequence[Node]") -> dict[str, frozenset[str]]:
    """Return the words of the nodes' states, by their names in Slurm; nothing where no slurmctld answers."""
    if not nodes:
        return {}
    from gpupool.compile.slurm.names import folded

    shown = _ask(target, f"scontrol -o show node {folded(node.slurm_name for node in nodes)}")
    return {name: frozenset(state.rstrip("*").split("+")) for name, state in _STATE.findall(shown)}


def _ask(target: Target, command: str) -> str:
    with tempfile.TemporaryDirectory(prefix="gpupool-") as folder:
        config = Path(folder) / "ssh_config"
        config.write_text(target.ssh_config)
        for node in target.cluster.controllers:
            try:
                done = subprocess.run(
                    ["ssh", "-F", str(config), node.name, command],
                    capture_output=True,
                    stdin=subprocess.DEVNULL,
                    text=True,
                    check=False,
                    timeout=_SLURM_SECONDS,
                )
            except subprocess.TimeoutExpired:
                continue
            if done.returncode == 0:
                return done.stdout
    return ""
