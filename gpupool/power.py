"""Find elastic nodes that Slurm has powered down, and keep nodes powered up while a command works on them."""

import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gpupool.remote.controller import Controller, NoAnswerError, RefusedError, reach
from gpupool.slurm.hostlists import fold_set
from gpupool.slurm.nodes import NodeState, read
from gpupool.target import Target

if TYPE_CHECKING:
    from gpupool.cluster.node import Node

_ANSWER_SECONDS = 5.0  # for a node that is powered up; a slower one may still be booting
_AT_ONCE = 16  # nodes that are asked in parallel
_OFTEN = 3  # times within cloud.idle_after


def powered_down(target: Target, names: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the elastic nodes (among `names`) that Slurm has powered down and that do not answer."""
    nodes = _elastic(target, names)
    if not nodes:
        return ()
    with reach(target) as controller:
        states = _states(controller, nodes)
        off = [node.name for node in nodes if (state := states.get(node.slurm_name)) and state.powered_off]
        # an admin may have powered up a node by hand
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answers = list(pool.map(lambda name: _answers(controller, name), off))
    return tuple(name for name, answer in zip(off, answers, strict=True) if not answer)


@contextmanager
def kept_powered_up(target: Target, names: Collection[str] | None) -> Iterator[None]:
    """Keep Slurm from powering down these nodes within the context."""
    cloud, nodes = target.cluster.cloud, _elastic(target, names)
    if cloud is None or not nodes:
        yield
        return
    over = threading.Event()

    def keep() -> None:
        with reach(target) as controller:
            _count_anew(controller, nodes)
            while not over.wait(cloud.idle_after / _OFTEN):
                _count_anew(controller, nodes)

    threading.Thread(target=keep, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _count_anew(controller: Controller, nodes: "Sequence[Node]") -> None:
    """Restart the idle time that Slurm counts, for each of these nodes that is idle."""
    states = _states(controller, nodes)
    names = [node.slurm_name for node in nodes]
    idle = [name for name in names if (state := states.get(name)) and state.flags == {"IDLE", "CLOUD"}]
    if idle:
        with suppress(NoAnswerError, RefusedError):
            controller.ask("scontrol", "update", f"nodename={fold_set(idle)}", "state=idle")


def _elastic(target: Target, names: Collection[str] | None) -> "list[Node]":
    return [node for node in target.nodes if node.elastic and (names is None or node.name in names)]


def _answers(controller: Controller, node: str) -> bool:
    """Return whether the node's SSH server answers; no other port can be reached through jumps."""
    try:
        controller.host_keys(node, seconds=_ANSWER_SECONDS)
    except NoAnswerError:
        return False
    return True


def _states(controller: Controller, nodes: "Sequence[Node]") -> dict[str, NodeState]:
    """Return the states of the nodes by their names in Slurm; {} if no slurmctld answers."""
    try:
        return read(controller.ask("scontrol", "show", "node", fold_set(node.slurm_name for node in nodes)))
    except (NoAnswerError, RefusedError):
        return {}
