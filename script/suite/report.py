"""The time of a run: by layer, by test, by fixture; a table for people, JSON for programs."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suite import second
from suite.run import Work

MOST = 10  # rows of a table
FAILURES = 3  # failures of a layer that the report shows
LINES = 15  # lines of a failure's error


def times(works: Mapping[str, Work], folder: Path, seconds: float, busy: float) -> dict[str, Any]:
    """Return the times of a run, in seconds; `busy` is the average number of busy cores.

    `tests` are all tests with their total times, set-up and tear-down included; `fixtures` are the fixtures that
    several tests share, with their total time in all workers.
    """
    layers, tests, fixtures = {}, [], defaultdict(float)
    for name, work in works.items():
        known = _read(folder / f"{name}.json")
        layers[name] = {"seconds": round(work.seconds, 1), "ok": work.code == 0, "tests": len(known["tests"])}
        tests += [{"layer": name, "test": test, "seconds": took} for test, took in known["tests"].items()]
        for fixture, took in known["fixtures"].items():
            fixtures[f"{name}: {fixture}"] += took
    return {
        "seconds": round(seconds, 1),
        "busy_cores": round(busy, 2),
        "layers": layers,
        "tests": sorted(tests, key=lambda test: -test["seconds"]),
        "fixtures": dict(sorted(fixtures.items(), key=lambda item: -item[1])),
        "passed_at_second_try": {
            test: _end(text)
            for test, text in second.passed({name: work.code == 0 for name, work in works.items()}, folder).items()
        },
    }


def _read(file: Path) -> dict[str, dict[str, float]]:
    try:
        known: dict[str, dict[str, float]] = json.loads(file.read_text())
    except FileNotFoundError:  # not a layer of pytest's, or it was ended
        return {"tests": {}, "fixtures": {}}
    return known


def failures(works: Mapping[str, Work], folder: Path) -> str:
    """Return the first failures of each layer with the ends of their texts; tests that fail alike are named once.

    The report has them at its end: of a long output, the end is what remains.
    """
    parts = []
    for name, work in works.items():
        file = folder / f"{name}.failed"
        if not work.code or not file.exists():
            continue
        alike: dict[str, list[str]] = {}
        for line in file.read_text().splitlines():
            failure = json.loads(line)
            alike.setdefault(_end(failure["text"]), []).append(failure["test"])
        for end, (first, *others) in list(alike.items())[:FAILURES]:
            parts.append(f"{first}{f' and {len(others)} more' if others else ''}\n{end}")
        if len(alike) > FAILURES:
            parts.append(f"{name}: {len(alike) - FAILURES} other failures")
    return "\n\n".join(parts)


def _end(text: str) -> str:
    """Return the error and its place from the text of a failure, or its last lines: the rest differs by worker."""
    lines = text.strip().splitlines()
    error = [line for line in lines if line.startswith("E  ")]
    return "\n".join(f"  {line}" for line in ([*error[:LINES], lines[-1]] if error else lines[-LINES:]))


def table(known: Mapping[str, Any]) -> str:
    """Return the same for people, on one screen."""
    rows = [("layer", "seconds", "tests", "")]
    rows += [
        (name, f"{layer['seconds']:.0f}", str(layer["tests"] or ""), "" if layer["ok"] else "FAILED")
        for name, layer in known["layers"].items()
    ]
    slow = [(test["test"], f"{test['seconds']:.0f}") for test in known["tests"][:MOST]]
    fixtures = [(name, f"{took:.0f}") for name, took in list(known["fixtures"].items())[:MOST] if took >= 1]
    parts = [_columns(rows)]
    parts += [_columns([("slowest tests", "seconds"), *slow])] if slow else []
    parts += [_columns([("fixtures for several tests", "seconds"), *fixtures])] if fixtures else []
    again = [f"{test}\n{end}" for test, end in known["passed_at_second_try"].items()]
    parts += ["failed first and passed at the second try, a defect to mend:\n" + "\n".join(again)] if again else []
    return "\n\n".join(parts) + f"\n\n{known['seconds']:.0f} s, {known['busy_cores']:.1f} cores busy on average"


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *rest = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
