"""A twin's slurmdbd, reconciled by the same code as production's in an apply."""

from collections.abc import Callable, Mapping
from typing import Any

from gpupool.errors import TwinError
from gpupool.operations.accounting import PATIENCE, ask_text, difference, normal, read, script, tres_of
from gpupool.rehearsal.twin.differences.table import GRACE
from gpupool.rehearsal.twin.jobs import Result

Run = Callable[[str, float], Result]  # shell text, seconds


def short_graces(entities: Mapping[str, Any]) -> dict[str, Any]:
    """Return entities with the grace times of QoS cut to GRACE, as the table of differences does for partitions."""
    qos = {
        name: {**fields, **({"GraceTime": min(fields["GraceTime"], GRACE)} if "GraceTime" in fields else {})}
        for name, fields in entities["qos"].items()
    }
    return {**entities, "qos": qos}


def reconcile(run: Run, entities: Mapping[str, Any], *, limits: bool) -> None:
    """Reconcile slurmdbd with the entities; their `limits` need the TRES that slurmctld registers when it starts."""
    try:
        clean = normal(entities, limits)
    except ValueError as error:
        raise TwinError(f"accounting: {error}") from None
    answer = run(ask_text(clean["cluster"], PATIENCE, tuple(sorted(tres_of(clean)))), 120)
    state = read(answer.out)
    if state is None or state.trouble:
        raise TwinError(f"slurmdbd does not answer: {state.trouble if state else answer.err.strip()}")
    if not (steps := difference(state.entities, clean)):
        return
    done = run(script(steps), 600)
    if done.code:
        raise TwinError(f"slurmdbd refused entities of the inventory: {(done.err or done.out).strip()}")
