"""`python3 -m reaper strays|vscode SETTINGS [--dry-run]`: the command of the timers, also for admins by hand."""

import argparse
import json
import os
import pwd
import re
import sys
import syslog
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpupool.node import processes
from gpupool.node.processes import Process

from . import end, rules, seen
from .rules import Rule

_DEFS = Path("/etc/login.defs")


class Refused(Exception):  # noqa: N818  # not an error of ours
    """The settings do not fit this node, so no process is ended; the message is the reason."""


def say(message: str) -> None:
    """Print a line for the journal or the terminal. When run by hand, write it to the system's log, too."""
    print(message, flush=True)
    if "JOURNAL_STREAM" not in os.environ:
        syslog.syslog(message)


def least_uid() -> int:
    """Return the lowest uid of a person: UID_MIN of login.defs(5)."""
    with suppress(OSError):
        if match := re.search(r"^\s*UID_MIN\s+(\d+)", _DEFS.read_text(errors="replace"), re.MULTILINE):
            return int(match[1])
    return 1000


def uids(names: Iterable[str]) -> frozenset[int]:
    """Return the uids of users; Refused if this node lacks one, as that user's processes would be ended."""
    numbers = {0}
    for name in names:
        try:
            numbers.add(pwd.getpwnam(name).pw_uid)
        except KeyError:
            raise Refused(f"spare_users: there is no user {name} on this node, so nothing is ended") from None
    return frozenset(numbers)


def user(process: Process) -> str:
    """Return the name of a process's user, or the uid if it has no name here."""
    try:
        return pwd.getpwuid(process.uid).pw_name
    except KeyError:
        return str(process.uid)


def run_strays(settings: dict[str, Any], dry: bool) -> bool:
    """End processes that have been outside of jobs for longer than the grace; return whether all have ended."""
    rule = Rule(
        least_uid(),
        settings["grace"],
        uids(settings["spare_users"]),
        settings["spare_containers"],
        settings["spare_users_with_jobs"],
    )
    strays = rules.strays(processes.present(with_commands=False), rule)
    # the grace counts for a user, not for a process: a process that forks in time would always be new
    return _after_grace(
        strays, lambda process: f"user {process.uid}", settings, _state("gpupool-reaper"), dry, "outside of jobs"
    )


def run_vscode(settings: dict[str, Any], dry: bool, leftovers: bool) -> bool:
    """End VS Code servers: all at once, or with `leftovers` those of users without an ssh session, after the grace."""
    chosen = rules.vscode(processes.present(), Rule(least_uid()), leftovers)
    grace = settings["grace"] if leftovers else 0
    settings = {**settings, "grace": grace}
    return _after_grace(chosen, lambda process: process.key, settings, _state("gpupool-vscode"), dry, "VS Code's")


def _state(name: str) -> Path:
    """Return the file with the first sightings, in the runtime directory of the service, also when run by hand."""
    return Path(os.environ.get("RUNTIME_DIRECTORY", f"/run/{name}")) / "seen.json"


def _after_grace(
    chosen: list[Process], key: Callable[[Process], str], settings: dict[str, Any], place: Path, dry: bool, why: str
) -> bool:
    """End the processes whose `key` each run has seen for the whole grace; return whether all have ended."""
    now, grace = seen.now(), settings["grace"]
    first = seen.since(place, map(key, chosen), now)
    overdue = [process for process in chosen if now - first[key(process)] >= grace]
    young = [process for process in chosen if process not in overdue]

    def line(what: str, process: Process) -> None:
        minutes = (now - first[key(process)]) / 60
        say(f"{what}: PID {process.pid} ({process.name}) of {user(process)}, {why}, seen for {minutes:.0f} min")

    if dry:
        for process in overdue:
            line("would be ended", process)
        for process in young:
            line(f"would be ended in {(grace - now + first[key(process)]) / 60:.0f} min", process)
        say(f"{len(overdue)} would be ended, {len(young)} are within their grace")
        return True
    seen.keep(place, first)
    ended = end.end(overdue, settings["patience"])
    results = {"terminated": ended.terminated, "killed": ended.killed, "does not end": ended.alive}
    for result, members in results.items():
        for process in members:
            line(result, process)
    counts = ", ".join(f"{len(members)} {result}" for result, members in results.items())
    say(f"{counts}, {len(young)} within their grace")
    return not ended.alive


def main() -> int:
    """Run the command line; return 1 if a process did not end, or none was ended because of the settings."""
    parser = argparse.ArgumentParser(prog="reaper", description=__doc__)
    parser.add_argument("what", choices=["strays", "vscode"])
    parser.add_argument("settings", type=Path, help="such as /etc/gpupool/reaper.json")
    parser.add_argument("--dry-run", action="store_true", help="list what would be ended, and end nothing")
    parser.add_argument("--leftovers", action="store_true", help="vscode: only of users who have no ssh session here")
    arguments = parser.parse_args()
    syslog.openlog(f"gpupool-{arguments.what}")
    settings = json.loads(arguments.settings.read_text())[arguments.what]
    try:
        if arguments.what == "strays":
            well = run_strays(settings, arguments.dry_run)
        else:
            well = run_vscode(settings, arguments.dry_run, arguments.leftovers)
    except Refused as why:
        say(str(why))
        return 1
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
