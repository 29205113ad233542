"""Files and links that have left the inventory leave the node, if they are still as gpupool put them."""

import re
import shlex
from collections.abc import Generator, Iterator, Mapping, Sequence

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.record import RECORD, Entry, Unwanted
from gpupool.operations import diffs, upcoming
from gpupool.operations.ambient import this_host
from gpupool.operations.disk import DISK
from gpupool.operations.refusal import refuse
from gpupool.shell import shell_file, values

#: Shell functions for the record, to stand at the head of a script.
RECORDING = values(record=RECORD) + DISK + shell_file(__package__, "record.sh")
_UNIT = re.compile(r"/etc/systemd/system/([^/]+\.(?:timer|service|automount|mount))")
#: What reads a directory's files again after some were removed.
_AFTERWARDS = {"/etc/systemd/system/": "systemctl daemon-reload", "/etc/exports.d/": "exportfs -r"}

Commands = Generator[StringCommand, None, None]


@operation()
def removed(wanted: list[str], keep_below: str) -> Commands:
    """Remove what gpupool has put on the node and is not among the `wanted` paths.

    Timers and services are stopped first; what is mounted stays mounted until the next boot.

    What a user or an admin has changed since stays, and so does what is below the directory `keep_below`: `left` comes
    to these at the end of the run.
    """
    entries = this_host().get_fact(Unwanted, wanted=wanted)
    if entries is None:
        yield from refuse(f"cannot read {RECORD}: no answer within 60 s")
        return
    yield from _remove([entry for entry in entries if not entry.path.startswith(f"{keep_below}/")], {})


@operation()
def left(wanted: list[str]) -> Commands:
    """Remove the rest, and fail where something is no longer wanted and not as gpupool put it. To be called last."""
    entries = this_host().get_fact(Unwanted, wanted=wanted)
    if entries is None:
        yield from refuse(f"cannot read {RECORD}: no answer within 60 s")
        return
    yield from _remove(entries, _kept(entries))


def _remove(entries: Sequence[Entry], kept: Mapping[str, str]) -> Commands:
    gone = [entry.path for entry in entries if not entry.now]
    ours = [entry.path for entry in entries if entry.now and entry.untouched]
    ours.sort(key=lambda path: not path.endswith(".timer"))  # a timer would start its service again
    for path in ours:
        upcoming.announce(path, upcoming.ABSENT)
    diffs.record(
        dict.fromkeys(ours, "no longer in the inventory: will be removed\n")
        | dict.fromkeys(gone, "no longer in the inventory, and already removed\n")
        | {f"{path} (refused)": f"{why}\n" for path, why in kept.items()}
    )
    lines = []
    if ours or gone:
        lines = [RECORDING.strip(), *_removal(ours), *(shlex.join(["forget_entry", path]) for path in (*ours, *gone))]
        lines.append("write_record")
    if kept:
        message = "; ".join(f"{path}: {why}" for path, why in kept.items())
        lines.append(f"printf '%s\\n' {shlex.quote(message)} >&2; exit 1")
    if not lines:
        this_host().noop("no file has left the inventory")
        return
    yield StringCommand("\n".join(lines))


def _removal(paths: Sequence[str]) -> Iterator[str]:
    yield "set -eu"
    for unit in (match[1] for path in paths if (match := _UNIT.fullmatch(path))):
        # a mount may be in use; without its units it is not made again at the next boot
        now = [] if unit.endswith("mount") else ["--now"]
        yield shlex.join(["systemctl", "--quiet", "disable", *now, "--", unit])
    if paths:
        yield shlex.join(["rm", "-f", "--", *paths])
    for directory, command in _AFTERWARDS.items():
        if any(path.startswith(directory) for path in paths):
            yield command


def _kept(entries: Sequence[Entry]) -> dict[str, str]:
    """Return why what is no longer wanted stays, by path."""
    reasons = {}
    for entry in entries:
        if entry.now and not entry.untouched:
            replaced = entry.put == "replaced"
            why = "it replaced a file that was there before" if replaced else "it was changed since gpupool wrote it"
            reasons[entry.path] = (
                f"no longer in the inventory, but {why}: remove it, or to keep it remove its line from {RECORD}"
            )
    return reasons
