"""Stop early, in words, where a daemon would wait minutes for a server that is not there."""

from gpupool.facts.answers import Answers
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import Refused, look, operation

PATIENCE = 15  # seconds that a server which was just started gets


@operation
def server_required(unit: str, servers: list[str], port: int, what: str) -> None:
    """Have one of the servers answer before `unit` is started; `what` is their name in the complaint.

    A unit that runs already needs nobody, and a plan asks nobody: the servers may be made by the same run.
    """
    if not executing():
        this_host().noop(f"{what}: not needed yet")
        return
    state = look(Answers, f"which {what} answers", unit=unit, servers=servers, port=port, patience=PATIENCE)
    if not (state.active or state.server):
        raise Refused(f"no {what} answers at {' or '.join(servers)}: {unit} cannot start without one")
    this_host().noop(f"{unit} runs" if state.active else f"{what}: {state.server} answers")
