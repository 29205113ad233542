"""A plugin of pytest: the time of each test, and of each fixture that several tests share.

A failure is written at once, as a line of JSON: the output of the layer is only shown at its end.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

_SHARED = pytest.StashKey[dict[str, float]]()
_tests: dict[str, float] = defaultdict(float)
_fixtures: dict[str, float] = defaultdict(float)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> Iterator[None]:
    """Record the time of a fixture that several tests share, without the time of the fixtures it uses."""
    began = time.monotonic()
    below = request.session.stash.setdefault(_SHARED, {})
    before = sum(below.values())
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            took = time.monotonic() - began - (sum(below.values()) - before)
            below[fixturedef.argname] = below.get(fixturedef.argname, 0) + took


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add the fixtures set up for a test to its report, which xdist also sends from its workers."""
    report: pytest.TestReport = yield
    if report.when == "setup":
        shared = item.session.stash.setdefault(_SHARED, {})
        report.user_properties.append(("shared", dict(shared)))
        shared.clear()
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up a test's set-up, call and tear-down."""
    _tests[report.nodeid] += report.duration
    if report.when == "setup":
        shared = dict(report.user_properties).get("shared")
        for name, took in shared.items() if isinstance(shared, dict) else ():
            _fixtures[name] += took
    file = os.environ.get("GPUPOOL_TEST_FAILURES")
    if report.failed and file and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(file).open("a") as output:
            failure = {"test": report.nodeid, "when": report.when, "text": report.longreprtext}
            output.write(json.dumps(failure) + "\n")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the times where the run of the whole suite reads them; times of two commands of a layer are added up."""
    file = os.environ.get("GPUPOOL_TEST_TIMES")
    if not file or hasattr(session.config, "workerinput"):
        return
    path = Path(file)
    known = json.loads(path.read_text()) if path.exists() else {"tests": {}, "fixtures": {}}
    known["tests"] |= {name: round(took, 2) for name, took in _tests.items()}
    known["fixtures"] |= {name: round(took, 2) for name, took in _fixtures.items()}
    path.write_text(json.dumps(known))
