"""A twin's slurmdbd filled by the same code that an apply fills production's with."""

from collections.abc import Callable, Mapping
from typing import Any

from gpupool.errors import TwinError
from gpupool.facts.accounting import Accounting
from gpupool.operations import accounting
from gpupool.rehearsal.twin_jobs import Said

Run = Callable[[str, float], Said]  # shell text, seconds


def reconcile(run: Run, entities: Mapping[str, Any], *, limits: bool) -> None:
    """Bring slurmdbd in line with the entities; without `limits` as long as slurmctld has not told of its TRES."""
    try:
        clean = accounting.normal(entities, limits)
    except ValueError as error:
        raise TwinError(f"accounting: {error}") from None
    fact = Accounting()
    awaited = tuple(sorted(accounting._tres(clean)))
    said = run(fact.command(clean["cluster"], 30, awaited).get_raw_value(), 120)
    state = fact.process(said.out.splitlines())
    if state is None or state.trouble:
        raise TwinError(f"slurmdbd cannot be asked: {state.trouble if state else said.err.strip()}")
    steps = accounting.difference(state.entities, clean)
    if not steps:
        return
    done = run("set -e\n" + "\n".join(step.command() for step in steps), 600)
    if done.code:
        raise TwinError(f"slurmdbd refused what the inventory says: {(done.err or done.out).strip()}")
