"""Record which tests ran, without hypothesis' time limit, with containers named unlike a demo's, without the engine.

Layers without containers do not see the testbeds of the person who runs them.
"""

import os
import sys
from pathlib import Path

import all_ran
import full
import pytest
import times
from hypothesis import HealthCheck, settings

os.environ.setdefault("GPUPOOL_TESTBED_PREFIX", "gpupool-test")
# hypothesis' default is 200 ms an example
settings.register_profile("no bound", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("no bound")

_WITHOUT_CONTAINERS = {"engine", "facts", "fuzz", "operations", "roles", "unit", "wheel"}


@pytest.fixture(autouse=True)
def _no_testbeds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the testbeds of this machine: commands would act on them."""
    if request.path.relative_to(Path(__file__).parent).parts[0] in _WITHOUT_CONTAINERS:
        monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/none")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `script/test`."""
    parser.addoption("--sample", action="store_true", help="leave out the tests of tests/full.txt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that run in `script/test --full` only."""
    full.leave_out(config, items)


def pytest_configure(config: pytest.Config) -> None:
    """Register plugins for the record: a conftest.py does not receive the reports of fixtures of the whole session."""
    config.pluginmanager.register(times, "times")
    if hasattr(config, "workerinput"):
        # The engine changes how threads wait, and an xdist worker that waits for its next test would end: tests of the
        # engine run in a separate process.
        sys.modules["gpupool.engine.drive"] = None  # type: ignore[assignment]
    else:
        config.pluginmanager.register(all_ran, "all-ran")
