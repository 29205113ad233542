"""`python3 -m gpu_usage SETTINGS [OPTIONS]`: the command gpu_usage."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpupool.node import screen

from . import count, jobs, options, shared, table
from .count import Row, Settings
from .jobs import Job, QueueError

_BREAKDOWNS = {"user": count.by_user, "lab": count.by_lab, "partition": count.by_partition}


def main(arguments: Sequence[str]) -> int:
    """Print the requested table; return 1 if the queue cannot be read, 2 for an unknown name."""
    path, *rest = arguments
    parser = options.parser()
    asked = parser.parse_args(rest)
    name = asked.partition or ""
    if asked.users and asked.labs:
        parser.error("use one of -u and -l")
    if asked.partition == "" and (asked.users or asked.labs):
        parser.error("-p needs a NAME here: a lab or a partition")
    by = "user" if asked.users else "lab" if asked.labs or asked.partition is None else "partition"
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        at, queue = _queue(data)
    except QueueError as why:
        print(f"{options.PROG}: cannot read the queue: {why}", file=sys.stderr)
        return 1
    settings = _settings(data)
    if name:
        try:
            queue = count.chosen(queue, name, settings)
        except KeyError:
            known = dict.fromkeys([*settings.caps, *settings.partitions])
            print(f"{options.PROG}: there is no lab or partition {name}; there are: {' '.join(known)}", file=sys.stderr)
            return 2
    rows = _BREAKDOWNS[by](queue, settings)
    if name and by == "lab":
        busy = {count.lab_of(job, settings) for job in queue}
        rows = [row for row in rows if row.name == name or row.name in busy]
    total = count.total(queue, settings)
    if asked.json:
        print(json.dumps({"at": int(at), "by": by, "rows": [_plain(row, by) for row in rows], "total": _plain(total)}))
        return 0
    types = [*settings.types, *sorted(total.types.keys() - settings.types.keys())]
    for line in table.lines(rows, total, by, types, table.look(sys.stdout, asked.color)):
        print(line.rstrip())
    if settings.types and not name:
        print(f"{total.running} of the cluster's {sum(settings.types.values())} GPUs are in use.")
    if data["private"]:
        print("Slurm shows you only your own jobs.")
    return 0


def _queue(data: dict[str, Any]) -> tuple[float, list[Job]]:
    """Return the queue that all users share, or this user's own if Slurm hides jobs from users."""
    if data["private"]:
        return time.time(), jobs.read(jobs.ask())
    return shared.queue(Path(data["folder"]), Path(data["socket"]))


def _settings(data: dict[str, Any]) -> Settings:
    return Settings(
        caps=data["caps"],
        parents=data["parents"],
        lending=tuple(data["lending"]),
        partitions=tuple(data["partitions"]),
        types=data["types"],
    )


def _plain(row: Row, by: str = "") -> dict[str, Any]:
    """Return a row as plain data for JSON."""
    values: dict[str, Any] = {"name": row.name}
    values |= {"lab": row.lab} if by == "user" else {"cap": row.cap, "left": row.left} if by == "lab" else {}
    counts = {"running": row.running, "pending": row.pending, "overcap": row.overcap, "cpus": row.cpus}
    return {**values, **counts, "types": dict(sorted(row.types.items()))}


if __name__ == "__main__":
    screen.run(main)
