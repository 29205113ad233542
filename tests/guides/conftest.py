"""What the tests of guides share."""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# tests that several files share say what they saw when they fail
pytest.register_assert_rewrite("tests.guides.stands")


def pytest_configure(config: pytest.Config) -> None:
    """Have the testbeds that several files use; SkyNet's is that of tests/testbed, too: a run deploys each once."""
    for name in ("tests.testbed.skynet", "tests.guides.aau", "tests.guides.dumont"):
        config.pluginmanager.import_plugin(name)


class ByCluster(LoadScopeScheduling):
    """One worker has all files on a cluster: `test_CLUSTER.py` and `test_CLUSTER_CHAPTER.py`."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("test_")[2].partition(".py")[0].partition("_")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByCluster:
    """Give several workers a cluster each."""
    return ByCluster(config, log)
