"""A plugin of pytest: fail a parallel run in which a collected test has no result.

When a test ends its worker, the tests queued on that worker are lost, and xdist may end the run as if it had passed.
"""

from collections.abc import Sequence

import pytest

_collected: set[str] = set()
_reported: set[str] = set()


# a hook of xdist, which may not be installed
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: object, ids: Sequence[str]) -> None:
    """Record the collected tests."""
    _collected.update(ids)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record a test that has a result, without the scope that xdist appends to its name."""
    _reported.add(report.nodeid.partition("@")[0] if report.nodeid not in _collected else report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail and list the missing tests, unless the run was to end early."""
    if session.config.option.maxfail or session.shouldstop or not (lost := sorted(_collected - _reported)):
        return
    print(f"\n{len(lost)} tests were lost with their worker, the first of them {lost[0]}")
    session.exitstatus = pytest.ExitCode.TESTS_FAILED
