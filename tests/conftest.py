"""What every layer does: it notes what its tests took."""

import pytest
import times


def pytest_configure(config: pytest.Config) -> None:
    """Have it noted as a plugin: a conftest.py hears nothing of what is set up for a whole session."""
    config.pluginmanager.register(times, "times")
