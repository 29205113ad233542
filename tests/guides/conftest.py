"""What the tests of guides share."""

import pytest

# tests that several files share say what they saw when they fail
pytest.register_assert_rewrite("tests.guides.stands")


def pytest_configure(config: pytest.Config) -> None:
    """Have the testbeds that several files use; SkyNet's is that of tests/testbed, too: a run deploys each once."""
    for name in ("tests.testbed.skynet", "tests.guides.aau", "tests.guides.dumont"):
        config.pluginmanager.import_plugin(name)
