"""What every layer does: it notes what its tests took and that none was lost, gives no example of hypothesis a bound in
seconds, names its containers otherwise than those of a demo, and loads no engine beside xdist. Layers without
containers see no testbed of whoever runs them.
"""

import os
import sys
from pathlib import Path

import all_ran
import pytest
import times
from hypothesis import HealthCheck, settings

os.environ.setdefault("GPUPOOL_TESTBED_PREFIX", "gpupool-test")
# hypothesis' own is 200 ms an example
settings.register_profile("no bound", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("no bound")

_WITHOUT_CONTAINERS = {"engine", "facts", "fuzz", "operations", "roles", "unit", "wheel"}


@pytest.fixture(autouse=True)
def _no_testbeds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A testbed of an inventory of this repository would be what commands work on."""
    if request.path.relative_to(Path(__file__).parent).parts[0] in _WITHOUT_CONTAINERS:
        monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/none")


def pytest_configure(config: pytest.Config) -> None:
    """Have it noted by plugins, since a conftest.py hears nothing of what is set up for a whole session."""
    config.pluginmanager.register(times, "times")
    if hasattr(config, "workerinput"):
        # The engine changes how threads wait, and a worker of xdist that waits for its next test would end: what needs
        # the engine is tested in a process of its own.
        sys.modules["gpupool.engine.drive"] = None  # type: ignore[assignment]
    else:
        config.pluginmanager.register(all_ran, "all-ran")
