"""Decide how a daemon of Slurm has to read its changed files, from the table of effects of the changed keys."""

import posixpath
from collections.abc import Collection, Mapping

from gpupool.facts.reading import ReadFile, Reading
from gpupool.facts.service import ABSENT, STAMPS, UnitState
from gpupool.operations import upcoming
from gpupool.operations.ambient import executing
from gpupool.operations.frame import look
from gpupool.shell import shell_file, values
from gpupool.slurm.keys import effects

#: Shell functions that keep the files that a unit has read, and print them.
KEEPING = values(stamps=STAMPS) + shell_file(__package__, "reading.sh")
_SHOWN = 4  # keys of each file that a message lists


def weighed(state: UnitState, unit: str, paths: Collection[str], version: str) -> Mapping[str, tuple[str, str]]:
    """Return for each changed file the effect (see `effects`), and the different keys as text."""
    texts = look(Reading, f"what {unit} has read", unit=unit, paths=list(paths)) if paths else {}
    return {path: _weighed(state, path, texts[path], version) for path in paths}


def _weighed(state: UnitState, path: str, text: ReadFile, version: str) -> tuple[str, str]:
    name = posixpath.basename(path)
    before, after = _before(state, path, text), _after(path, text)
    if before is None:
        return effects.reader(name), "its current settings are unknown"
    differ = effects.changed(name, before, after, version)
    return effects.joined(differ.values()), _named(differ) or "comments"


def _before(state: UnitState, path: str, text: ReadFile) -> str | None:
    """Return the text that a running unit has read; None if it is unknown."""
    noted = state.stamp_sums.get(path) if state.is_stamped else None
    if noted is not None:
        return "" if noted == ABSENT else text.known.get(noted)
    return text.now or "" if state.files[path].written <= max(state.started, state.process_started) else None


def _after(path: str, text: ReadFile) -> str:
    coming = None if executing() else upcoming.announced().get(path)
    if coming == upcoming.ABSENT:
        return ""
    return (upcoming.text_of(path) if coming else None) or text.now or ""


def _named(places: Collection[effects.Place]) -> str:
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return ", ".join([str(place) for place in places][:_SHOWN]) + more
