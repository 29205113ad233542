"""A reservation of nodes for root: no user's job starts there, and running jobs continue."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from gpupool.cluster.node import Node
from gpupool.remote.controller import Controller
from gpupool.shell import shell_file
from gpupool.slurm import reservations
from gpupool.slurm.hostlists import fold_set

_SCRIPT = shell_file(__package__, "reserve.sh")


@dataclass(frozen=True)
class Reservation:
    """A reservation in slurmctld: its nodes by Slurm's names, and its start in Unix time."""

    name: str
    nodes: tuple[str, ...]
    start: int


def reserve(controller: Controller, name: str, nodes: Sequence[Node]) -> None:
    """Create a reservation of exactly these nodes from now on, without an end, or change the existing one."""
    controller.ask("sh", "-c", _SCRIPT, "reserve", name, fold_set(node.slurm_name for node in nodes))


def release(controller: Controller, name: str) -> None:
    """Remove a reservation, if it exists, and root's jobs in it."""
    controller.ask("sh", "-c", _SCRIPT, "reserve", name, "")


def reservation(controller: Controller, name: str) -> Reservation | None:
    """Return the reservation with this name; None if there is none."""
    shown = controller.ask("env", "TZ=UTC", "scontrol", "-o", "show", "reservation")
    one = reservations.read(shown, UTC).get(name)
    return None if one is None else Reservation(name, one.nodes, int(one.start.timestamp()))
