"""Settings of our files that are not in force, because a file of the site has them, too, and is read later."""

from collections.abc import Sequence

from gpupool.facts.overrides import LaterFiles, Override
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import WAITS, Refused, look, operation


@operation
def refused(paths: Sequence[str]) -> None:
    """Refuse if another file overrides a setting of a file in `paths`: a unit, a drop-in, or MariaDB or sssd settings.

    Nothing is changed: the file that decides is the site's. All other operations are done before the refusal counts.
    """
    if found := look(LaterFiles, "the files of units and daemons", paths=list(paths)):
        each = "; ".join(map(sentence, found))
        raise Refused(f"{each}. Remove these lines, then apply again", WAITS)
    this_host().noop("settings of units and daemons: as wanted")


def sentence(override: Override) -> str:
    """Return an override for a message."""
    section, _, key = override.key.rpartition(" ")
    where = f"[{section}] {key}" if section else key
    files = " and ".join(override.files)
    now, wanted = (value or "empty" for value in (override.now, override.wanted))
    return f"{where} is {now}, from {files}, which is read after {override.path}; the inventory has {wanted}"
