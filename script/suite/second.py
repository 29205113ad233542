"""A second try of the few tests of a layer that failed: once, alone, and named in the report.

Tests of real daemons wait for other programs on a machine whose load they share, and a few of thousands fail in one run
of ten without a fault in the code. A test that passes at its second try still has a defect, so the report of the run
names it with its first error. Layers without containers get no second try: nothing in them depends on load.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

_FAILED = 1  # pytest's exit code if tests failed; other codes are errors of pytest's own
MOST = 3  # failures that get a second try: more have a common cause


def command(failures: Path, code: int) -> Sequence[str] | None:
    """Return the command that tries the failed tests again, or None for a failure without a second try.

    `failures` is the file of the failed tests. It is renamed, and the second try writes it again. A cluster that many
    tests share and that did not come up is one failure, though each of these tests has an error.
    """
    if code != _FAILED or not failures.exists():
        return None
    known = _read(failures)
    if len({failure["text" if failure["when"] == "setup" else "test"] for failure in known}) > MOST:
        return None
    failures.rename(first_failures(failures))
    return ("pytest", "-n", "0", *dict.fromkeys(failure["test"] for failure in known))


def first_failures(failures: Path) -> Path:
    """Return the place of the failures of the first try."""
    return failures.with_suffix(".first")


def passed(layers: Mapping[str, bool], folder: Path) -> dict[str, str]:
    """Return the tests that failed first and passed then, with their first errors.

    `layers` are the names of layers, and whether they passed in the end.
    """
    found: dict[str, str] = {}
    for name, ok in layers.items():
        first = first_failures(folder / f"{name}.failed")
        if ok and first.exists():
            for failure in _read(first):
                found.setdefault(failure["test"], failure["text"])
    return found


def _read(failures: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in failures.read_text().splitlines()]
