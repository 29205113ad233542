"""A reservation of nodes for root: no user's job begins there, those that run go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from gpupool.cluster.model import Node
from gpupool.remote.controller import Controller
from gpupool.shell import shell_file
from gpupool.slurm import reservations
from gpupool.slurm.hostlists import fold_set

_SCRIPT = shell_file(__package__, "reserve.sh")


@dataclass(frozen=True)
class Reservation:
    """A reservation as slurmctld has it: Slurm's names of its nodes, and its start in seconds since 1970."""

    name: str
    nodes: tuple[str, ...]
    start: int


def reserve(controller: Controller, name: str, nodes: Sequence[Node]) -> None:
    """Have a reservation of exactly these nodes from now on, without an end: a new one, or the old one changed."""
    controller.ask("sh", "-c", _SCRIPT, "reserve", name, fold_set(node.slurm_name for node in nodes))


def release(controller: Controller, name: str) -> None:
    """Remove a reservation, if there is one, and root's jobs in it."""
    controller.ask("sh", "-c", _SCRIPT, "reserve", name, "")


def reservation(controller: Controller, name: str) -> Reservation | None:
    """Return a reservation; None where there is none of this name."""
    shown = controller.ask("env", "TZ=UTC", "scontrol", "-o", "show", "reservation")
    one = reservations.read(shown, UTC).get(name)
    return None if one is None else Reservation(name, one.nodes, int(one.start.timestamp()))
