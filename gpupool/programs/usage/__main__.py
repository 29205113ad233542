"""`python3 -m usage count|purge|audit|report SETTINGS`: the command of the timers, also for admins by hand."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from . import audit, count, note, purge, report, tree

STATE = Path(os.environ.get("STATE_DIRECTORY", "/var/lib/gpupool"))
LOGS = Path("/var/log/gpupool")
#: Lines of an audit that are printed to the journal. The file has all lines.
JOURNAL_LINES = 20


def say(message: str) -> None:
    """Print a line at once, for the journal or a terminal."""
    print(message, flush=True)


def print_skipped(path: str, reason: str) -> None:
    """Print that a tree is skipped."""
    say(f"{path}: skipped: {reason}")


def each(
    entries: list[dict[str, Any]],
    work: Callable[[dict[str, Any]], bool],
    failed: Callable[[str, str], None] = print_skipped,
) -> bool:
    """Run `work` for each entry whose file system answers; return whether all succeeded.

    `failed` is called with the path and the reason of each entry that fails.
    """
    well = True
    for entry in entries:
        try:
            if not tree.answers(entry["path"]):
                raise tree.TreeError(f"its file system does not answer within {tree.PATIENCE} s, or does not exist")
            well = work(entry) and well
        except (tree.TreeError, OSError) as error:
            failed(entry["path"], getattr(error, "strerror", None) or str(error))
            well = False
    return well


def run_count(settings: dict[str, Any]) -> bool:
    """Write the usage file of each directory."""

    def work(entry: dict[str, Any]) -> bool:
        began = time.monotonic()
        counted = count.count(entry["path"], entry["levels"], settings["file"], time.time(), say)
        say(f"{entry['path']}: counted in {time.monotonic() - began:.0f} s")
        report.keep(STATE / "usage", entry["path"], counted.uncounted)
        return counted.well

    return each(settings["count"], work)


def run_purge(settings: dict[str, Any], dry: bool) -> bool:
    """Remove old files; with `dry`, only list them."""

    def work(entry: dict[str, Any]) -> bool:
        rule, now = purge.Rule(**{**entry, "spared": tuple(entry.get("spared", ()))}), time.time()
        doubt = ""
        if dry:
            removed = purge.purge(rule, now, say, dry=True)
        else:
            doubt = purge.record_run(STATE / "purge" / quote(rule.path, safe=""), rule, now)
            with _appending(purge.log_of(LOGS, now)) as log:
                removed = purge.purge(rule, now, log.write, dry=bool(doubt), warn=True)
            if doubt:
                say(f"{rule.path}: {doubt}, so nothing is removed; {LOGS} lists what the next run will remove")
        result = "would be removed" if dry or doubt else "removed"
        amount = f"{removed.files} files and links ({note.human(removed.kib)}), {removed.directories} directories"
        say(f"{rule.path}: {result}: {amount}" + (f"; {removed.failed} failed" if removed.failed else ""))
        return not removed.failed

    return each(settings["purge"], work)


class _appending:  # noqa: N801  # a context, used like open()
    """A log file. Each line is written at once, so that the log of a killed run is complete."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)

    def __enter__(self) -> "_appending":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def write(self, line: str) -> None:
        """Append a line. An OSError here stops the purge before the file of that line is removed."""
        os.write(self.fd, f"{line}\n".encode())


def run_audit(settings: dict[str, Any]) -> bool:
    """List the entries at the top of each space that do not belong there."""
    ours = frozenset({settings["file"]} if settings["file"] else ())

    def work(entry: dict[str, Any]) -> bool:
        strays = audit.audit(entry["path"], entry["owners"], ours)
        path = audit.write(STATE / "audit", entry["name"], entry["path"], strays, time.time())
        for stray in strays[:JOURNAL_LINES]:
            say(f"{entry['path']}: {stray.line}")
        say(f"{entry['path']}: {len(strays)} entries that do not belong, listed in {path}")
        return True

    return each(settings["audit"], work)


def run_report(settings: dict[str, Any]) -> bool:
    """Print the contents of the usage files."""

    def work(entry: dict[str, Any]) -> bool:
        uncounted = report.kept(STATE / "usage", entry["path"])
        for line in report.report(entry["path"], entry["levels"], settings["file"], uncounted):
            say(line)
        return True

    return each(settings["count"], work, lambda top, reason: say(report.line(top=top, trouble=reason)))


def main() -> int:
    """Run the command line; return 1 if a part of it failed."""
    parser = argparse.ArgumentParser(prog="usage", description=__doc__)
    parser.add_argument("what", choices=["count", "purge", "audit", "report"])
    parser.add_argument("settings", type=Path, help="such as /etc/gpupool/usage.json")
    parser.add_argument("--dry", action="store_true", help="with purge: list what would be removed, and remove nothing")
    arguments = parser.parse_args()
    if arguments.dry and arguments.what != "purge":
        parser.error("--dry only works with purge")
    settings = json.loads(arguments.settings.read_text())
    tree.allow_depth()
    if arguments.what == "purge":
        return 0 if run_purge(settings, arguments.dry) else 1
    work = {"count": run_count, "audit": run_audit, "report": run_report}[arguments.what]
    return 0 if work(settings) else 1


if __name__ == "__main__":
    sys.exit(main())
