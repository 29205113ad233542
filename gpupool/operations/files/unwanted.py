"""Remove files and links that have left the inventory, if they are still as gpupool put them."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.record import RECORD, Entry, Unwanted
from gpupool.operations import upcoming
from gpupool.operations.ambient import executing
from gpupool.operations.disk import DISK
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.refusal import failure
from gpupool.operations.work import Work
from gpupool.shell import shell_file, values
from gpupool.unix import UNITS

#: Shell functions for the record, for the beginning of a script.
RECORDING = values(record=RECORD) + DISK + shell_file(__package__, "former.sh") + shell_file(__package__, "record.sh")
_UNIT = re.compile(rf"{UNITS}/([^/]+\.(?:timer|service|automount|mount))")
#: The command to run after files of a directory were removed.
_AFTERWARDS = {f"{UNITS}/": "systemctl daemon-reload", "/etc/exports.d/": "exportfs -r"}


@operation
def removed(wanted: list[str], keep_below: str) -> Commands:
    """Remove files and links that gpupool has put on the node and that are not among the `wanted` paths.

    Timers and services are stopped first; mounts are kept until the next boot.

    Files that a user or an admin has changed are kept, and so are files below the directory `keep_below`:
    `removed_at_end` handles these at the end of the run.
    """
    entries = look(Unwanted, RECORD, wanted=wanted)
    yield from _remove([entry for entry in entries if not entry.path.startswith(f"{keep_below}/")])


@operation
def removed_at_end(wanted: list[str]) -> Commands:
    """Remove the remaining unwanted files; fail if one is not as gpupool put it. Call it last."""
    entries = look(Unwanted, RECORD, wanted=wanted)
    if not executing():  # without the files that `removed` would have removed
        coming = upcoming.announced()
        entries = [entry for entry in entries if coming.get(entry.path) != upcoming.ABSENT]
    yield from _remove(entries, _kept(entries))


def _remove(entries: Sequence[Entry], kept: Mapping[str, str] | None = None) -> Commands:
    work = Work(Kind.FILE)
    gone = [entry.path for entry in entries if not entry.now]
    ours = [entry.path for entry in entries if entry.now and entry.untouched]
    ours.sort(key=lambda path: not path.endswith(".timer"))  # a timer would start its service again
    for path in (*ours, *gone):
        upcoming.announce(path, upcoming.ABSENT)
    for path in ours:
        work.differs(path, Aspect(ABSENT, PRESENT))
    for path in gone:
        work.differs(path, Aspect(ABSENT, ABSENT))
    for path, why in (kept or {}).items():
        work.differs(path, Aspect(ABSENT, PRESENT, note=why), refused=True)
    if ours or gone:
        work.lines += removal(ours)
        for path in (*ours, *gone):
            work.run("forget_entry", path)
        work.run("write_record")
    end = []
    if kept:
        end = [failure("; ".join(f"{path}: {why}" for path, why in kept.items())).get_raw_value()]
    yield from work.carry_out("no file has left the inventory", RECORDING if work.lines else "", end)


def removal(paths: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a script that stop the units of these files and remove the files."""
    yield "set -eu"
    for unit in (match[1] for path in paths if (match := _UNIT.fullmatch(path))):
        # a mount may be in use; without its units, the next boot does not mount it
        now = [] if unit.endswith("mount") else ["--now"]
        yield shlex.join(["systemctl", "--quiet", "disable", *now, "--", unit])
    if paths:
        yield shlex.join(["rm", "-f", "--", *paths])
    for directory, command in _AFTERWARDS.items():
        if any(path.startswith(directory) for path in paths):
            yield command


def _kept(entries: Sequence[Entry]) -> dict[str, str]:
    """Return why unwanted files are kept, by path."""
    reasons = {}
    for entry in entries:
        if entry.now and not entry.untouched:
            replaced = entry.put == "replaced"
            why = "it replaced an existing file" if replaced else "it was changed since gpupool wrote it"
            reasons[entry.path] = (
                f"no longer in the inventory, but {why}: remove it, or to keep it remove its line from {RECORD}"
            )
    return reasons
