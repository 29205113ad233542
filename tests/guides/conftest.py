"""What the tests of guides share."""

import pytest

# tests that several files share say what they saw when they fail
pytest.register_assert_rewrite("tests.guides.stands")


def pytest_configure(config: pytest.Config) -> None:
    """Have SkyNet's testbed, the one that tests/testbed uses too: a run of both deploys it once."""
    config.pluginmanager.import_plugin("tests.testbed.skynet")
