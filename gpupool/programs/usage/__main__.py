"""`python3 -m usage count|purge|audit|report SETTINGS`: what the timers run, and what an admin runs by hand."""

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
#: Lines of an audit in the journal; the file has them all.
FEW = 20


def say(message: str) -> None:
    """Write a line for the journal, or for whoever runs this by hand."""
    print(message, flush=True)


def complain(path: str, why: str) -> None:
    """Say that one tree is left out."""
    say(f"{path}: left out: {why}")


def each(
    entries: list[dict[str, Any]],
    work: Callable[[dict[str, Any]], bool],
    trouble: Callable[[str, str], None] = complain,
) -> bool:
    """Do the work for each entry whose file system answers; tell whether all went well, and of trouble by its path."""
    well = True
    for entry in entries:
        try:
            if not tree.answers(entry["path"]):
                raise tree.NoWayError(f"its file system does not answer within {tree.PATIENCE} s, or does not exist")
            well = work(entry) and well
        except (tree.NoWayError, OSError) as error:
            trouble(entry["path"], getattr(error, "strerror", None) or str(error))
            well = False
    return well


def run_count(settings: dict[str, Any]) -> bool:
    """Write the usage files."""

    def work(entry: dict[str, Any]) -> bool:
        began = time.monotonic()
        counted = count.count(entry["path"], entry["levels"], settings["file"], time.time(), say)
        say(f"{entry['path']}: counted in {time.monotonic() - began:.0f} s")
        report.keep(STATE / "usage", entry["path"], counted.left)
        return counted.well

    return each(settings["count"], work)


def run_purge(settings: dict[str, Any], dry: bool) -> bool:
    """Remove old files, or only say which ones."""

    def work(entry: dict[str, Any]) -> bool:
        rule, now = purge.Rule(**{**entry, "spared": tuple(entry.get("spared", ()))}), time.time()
        why = ""
        if dry:
            gone = purge.purge(rule, now, say, dry=True)
        else:
            why = purge.doubt(STATE / "purge" / quote(rule.path, safe=""), rule, now)
            with _appending(purge.log_of(LOGS, now)) as log:
                gone = purge.purge(rule, now, log.write, dry=bool(why), warn=True)
            if why:
                say(f"{rule.path}: {why}, so nothing is removed; {LOGS} lists what the next run will remove")
        done = "would go" if dry or why else "gone"
        amount = f"{gone.files} files and links ({note.human(gone.kib)}), {gone.directories} directories"
        say(f"{rule.path}: {done}: {amount}" + (f"; {gone.failed} failed" if gone.failed else ""))
        return not gone.failed

    return each(settings["purge"], work)


class _appending:  # noqa: N801  # a context, used like open()
    """A log to which each line is written at once: a run that is killed has said what it did."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)

    def __enter__(self) -> "_appending":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def write(self, line: str) -> None:
        """Add a line; what cannot be written down is not done."""
        os.write(self.fd, f"{line}\n".encode())


def run_audit(settings: dict[str, Any]) -> bool:
    """List what does not belong."""
    ours = frozenset({settings["file"]} if settings["file"] else ())

    def work(entry: dict[str, Any]) -> bool:
        strays = audit.audit(entry["path"], entry["owners"], ours)
        path = audit.write(STATE / "audit", entry["name"], entry["path"], strays, time.time())
        for stray in strays[:FEW]:
            say(f"{entry['path']}: {stray.line}")
        say(f"{entry['path']}: {len(strays)} that do not belong, listed in {path}")
        return True

    return each(settings["audit"], work)


def run_report(settings: dict[str, Any]) -> bool:
    """Print what the usage files say."""

    def work(entry: dict[str, Any]) -> bool:
        left = report.kept(STATE / "usage", entry["path"])
        for line in report.report(entry["path"], entry["levels"], settings["file"], left):
            say(line)
        return True

    return each(settings["count"], work, lambda top, why: say(report.line(top=top, trouble=why)))


def main() -> int:
    """Do what the command line says; 1 when any of it went wrong."""
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
