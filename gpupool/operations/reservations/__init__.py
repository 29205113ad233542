"""Create, change and remove gpupool's reservations in slurmctld; other reservations are not changed.

Without pyinfra, `ask_text` and `read` (gpupool.facts.reservations) and `difference` do the same.
"""

from pyinfra.api.command import StringCommand

from gpupool.change import Aspect, Change, Kind
from gpupool.facts.reservations import Reservations, ask_text, read
from gpupool.operations import diffs
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.refusal import failure
from gpupool.operations.reservations.difference import FUNCTIONS, Difference, difference
from gpupool.wanted import Reservation

__all__ = ["Difference", "ask_text", "difference", "read", "reserved"]

_PRELUDE = FUNCTIONS


@operation
def reserved(wanted: list[Reservation]) -> Commands:
    """Have these reservations in slurmctld, and no others that gpupool has created.

    A reservation that an admin has created is never changed; if it differs from a wanted one of the same name, the
    operation fails. A reservation that slurmctld refuses fails the operation at the end, after all others are created.
    """
    state = look(Reservations, "the reservations from slurmctld", wanted=bool(wanted))
    if state.trouble and executing():
        raise Refused(f"cannot ask slurmctld for its reservations: {state.trouble}")
    todo = difference(state, wanted)
    silent = f"does not answer ({state.trouble}): shown as if it had no reservations"
    unknown = Change(Kind.OTHER, "slurmctld", (Aspect("answers", "does not", note=silent),))
    diffs.record([*([unknown] if state.trouble else []), *todo.changes.values()])
    if todo.over:
        diffs.note(f"reservations that have ended, and can be removed from the inventory: {', '.join(todo.over)}")
    if not todo.lines and not todo.strange:
        this_host().noop("reservations: as wanted")
    if todo.lines:
        yield StringCommand(todo.script())
    if todo.strange:
        yield failure(
            f"reservations not created by gpupool have these names: {', '.join(todo.strange)}. Rename them in the "
            "inventory, or `scontrol delete ReservationName=NAME`"
        )
