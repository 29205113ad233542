"""Fail early, with the reason, if a daemon would wait minutes for a server that does not answer."""

from gpupool.facts.answers import Answers
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import Refused, look, operation

PATIENCE = 15  # seconds to wait for a server that was just started


@operation
def server_required(unit: str, servers: list[str], port: int, what: str) -> None:
    """Fail unless one of the servers answers, before `unit` is started; `what` is their name in the message.

    Skipped if the unit is active, and in a plan: the same run may create the servers.
    """
    if not executing():
        this_host().noop(f"{what}: not needed yet")
        return
    state = look(Answers, f"which {what} answers", unit=unit, servers=servers, port=port, patience=PATIENCE)
    if not (state.active or state.server):
        raise Refused(f"no {what} answers at {' or '.join(servers)}: {unit} cannot start without one")
    this_host().noop(f"{unit} runs" if state.active else f"{what}: {state.server} answers")
