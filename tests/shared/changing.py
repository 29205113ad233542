"""Changes of a plan for tests, made from their listed form."""

from collections.abc import Iterable

from gpupool.change import Aspect, Change, Kind
from gpupool.effect import NOTHING, Effect
from gpupool.wording import changed


def change_of(operation: str, diff: str = "", effect: Effect = NOTHING) -> Change:
    """Return a change of a file, listed as "Step | item", with its diff."""
    step, _, item = operation.partition(" | ")
    return Change(Kind.FILE, item, (Aspect(diff=diff),), step=step, effect=effect)


def words(changes: Iterable[Change]) -> dict[str, str | None]:
    """Return the output of a plan for these changes, by their names."""
    return {change.name: changed(change) for change in changes}
