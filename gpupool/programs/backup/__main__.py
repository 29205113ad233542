"""`python3 -m backup make|look|list SETTINGS`: make backups, or print them as JSON; `look` checks the newest ones."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from . import make, places
from .places import Failed


def main() -> int:
    """Run the command line; return 1 if a backup could not be made."""
    parser = argparse.ArgumentParser(prog="backup", description=__doc__)
    parser.add_argument("what", choices=["make", "look", "list"])
    parser.add_argument("settings", type=Path, help="such as /etc/gpupool/backup.json")
    arguments = parser.parse_args()
    os.umask(0o077)
    settings = json.loads(arguments.settings.read_text())
    if arguments.what != "make":
        configured = int(arguments.settings.stat().st_mtime)
        sums = arguments.what == "look"
        print(json.dumps({kind: look(settings, kind, sums) | {"configured": configured} for kind in settings["kinds"]}))
        return 0
    results = [run(settings, kind) for kind in settings["kinds"]]
    return 0 if all(results) else 1


def run(settings: dict[str, Any], kind: str) -> bool:
    """Make one backup, remove the oldest and print the result; return whether it succeeded.

    If it fails, no old backup is removed.
    """
    folder = Path(settings["to"])
    try:
        done = (
            make.database(folder, settings["cluster"])
            if kind == "database"
            else make.state(folder, Path(settings["state"]))
        )
        if not done.is_good():
            raise Failed(f"{done.path} has a wrong checksum: check its disk")
    except (Failed, OSError) as reason:
        print(f"{kind}: no backup: {reason}", file=sys.stderr, flush=True)
        return False
    removed = places.keep(folder, kind, settings["keep"])
    print(f"{kind}: {done.path}, {done.size} bytes; removed: {', '.join(removed) or 'none'}", flush=True)
    return True


def look(settings: dict[str, Any], kind: str, sums: bool) -> dict[str, Any]:
    """Return the backups of a kind, newest first; with `sums`, also whether the newest matches its checksum."""
    backups = places.backups(Path(settings["to"]), kind)
    listed = [{"path": str(backup.path), "made": backup.made, "size": backup.size} for backup in backups]
    good = {"good": bool(backups) and backups[0].is_good()} if sums else {}
    return {"backups": listed, **good}


if __name__ == "__main__":
    sys.exit(main())
