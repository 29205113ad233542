"""A plan's changes as differences with three columns: inventory, file and live system."""

from collections.abc import Iterator, Sequence

from gpupool.change import ABSENT, PRESENT, Aspect, Change, Kind
from gpupool.programs.drift.difference import NONE, PUT_BACK, Difference

_REFUSED = "until an admin changes it: apply refuses to"
#: `PRESENT` and `ABSENT` of a package, as admins read them.
_INSTALLED = {PRESENT: "installed", ABSENT: "not installed"}


def differences(node: str, changes: Sequence[Change]) -> Iterator[Difference]:
    """Yield the differences of a node; all changes of one unit are one difference.

    A change that only follows from another is left out: a restart because a file will change, or entities that slurmdbd
    does not name because it does not answer.
    """
    units: dict[str, list[Aspect]] = {}
    for change in changes:
        if change.kind is Kind.SERVICE:
            units.setdefault(change.item, []).extend(aspect for aspect in change.aspects if not aspect.follows)
        elif not all(aspect.follows for aspect in change.aspects):
            yield _row(node, change)
    for unit, aspects in units.items():
        if aspects:
            yield _row(node, Change(Kind.SERVICE, unit, tuple(aspects)))


def _row(node: str, change: Change) -> Difference:
    wanted, actual = change.wanted, change.actual
    if change.kind is Kind.PACKAGE:
        wanted, actual = _INSTALLED.get(wanted, wanted), _INSTALLED.get(actual, actual)
    if change.kind is Kind.LINK:
        wanted, actual = (text if text == ABSENT else f"-> {text}" for text in (wanted, actual))
    file, live = (actual, NONE) if change.kind in (Kind.FILE, Kind.LINK) else (NONE, actual)
    then = _REFUSED if change.refused else PUT_BACK
    return Difference(node, str(change.kind), change.item or change.step, wanted, file, live, then)
