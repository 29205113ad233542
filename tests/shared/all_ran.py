"""A plugin of pytest: a run of several workers fails where a test was collected and nothing came of it.

A worker that a test ends takes those with it that it was still to run, and xdist may end the run as if all were well.
"""

from collections.abc import Sequence

import pytest

_collected: set[str] = set()
_reported: set[str] = set()


# xdist's own, which is not there without it
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: object, ids: Sequence[str]) -> None:
    """Note what there is to run."""
    _collected.update(ids)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what something came of. The scope that xdist appends to a name is no part of it."""
    _reported.add(report.nodeid.partition("@")[0] if report.nodeid not in _collected else report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail, with the tests that are missing, unless the run was to end early."""
    if session.config.option.maxfail or session.shouldstop or not (lost := sorted(_collected - _reported)):
        return
    print(f"\n{len(lost)} tests were lost with their worker, the first of them {lost[0]}")
    session.exitstatus = pytest.ExitCode.TESTS_FAILED
