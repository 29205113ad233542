"""Plugins and the scheduling of the tests of guides."""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# shared assertions show their values when they fail
pytest.register_assert_rewrite("tests.guides.deployed")


def pytest_configure(config: pytest.Config) -> None:
    """Add the testbeds that several files use; SkyNet's is also that of tests/testbed, so a run deploys each once."""
    for name in ("tests.testbed.skynet", "tests.guides.aau", "tests.guides.dumont"):
        config.pluginmanager.import_plugin(name)


class ByCluster(LoadScopeScheduling):
    """Gives one worker all files on a cluster: `test_CLUSTER.py` and `test_CLUSTER_CHAPTER.py`."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("test_")[2].partition(".py")[0].partition("_")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByCluster:
    """Return the scheduler that gives each worker one cluster."""
    return ByCluster(config, log)
