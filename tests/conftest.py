"""What every layer does: it notes what its tests took, and measures no test by the clock."""

import hypothesis
import pytest
import times

hypothesis.settings.register_profile(
    "gpupool", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("gpupool")


def pytest_configure(config: pytest.Config) -> None:
    """Have it noted as a plugin: a conftest.py hears nothing of what is set up for a whole session."""
    config.pluginmanager.register(times, "times")
