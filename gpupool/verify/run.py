"""Run the checks on the nodes with pytest, in this process, and return the outcomes as data."""

import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster, Node
from gpupool.remote.nodes import Nodes
from gpupool.target import Target
from gpupool.verify.backend import NodeBackend
from gpupool.verify.looks import NodeLook, look_at

CHECKS = Path(__file__).parent


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check on one node; `why` is one line if the check failed."""

    check: str
    node: str
    ok: bool
    why: str = ""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as plain JSON types."""
        return asdict(self)


def run(target: Target, limit: set[str] | None, tell: Callable[[Outcome], None]) -> list[Outcome]:
    """Run every check on the nodes in `limit` (None: all), and call `tell` with each outcome as soon as it is known."""
    with Nodes.of(target) as nodes:
        plugin = _Checks(nodes, limit, tell)
        # testinfra's own plugin would define another `host`, which is this machine
        without = ("terminal", "cacheprovider", "logging", "pytest11.testinfra")
        quiet = [word for name in without for word in ("-p", f"no:{name}")]
        code = pytest.main(
            ["--rootdir", str(CHECKS), "-c", "/dev/null", "--import-mode=importlib", *quiet, str(CHECKS)], [plugin]
        )
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            if code == pytest.ExitCode.INTERRUPTED:
                raise KeyboardInterrupt
            plugin.outcomes.append(
                Outcome("the checks themselves", "-", False, plugin.trouble or f"pytest ended with {code}")
            )
        return plugin.outcomes


class _Checks:
    """The pytest plugin: one test item for each check and each node with a role of the check."""

    def __init__(self, nodes: Nodes, limit: set[str] | None, tell: Callable[[Outcome], None]) -> None:
        self.target = nodes.target
        self.tell = tell
        self.nodes = [node for node in self.target.nodes if limit is None or node.name in limit]
        self.outcomes: list[Outcome] = []
        self.trouble = ""
        self._backend = cache(lambda name: NodeBackend(name, nodes))
        self._connect = cache(lambda name: Host(self._backend(name)))
        nodes_of = self.target.cluster.nodes
        self._look = cache(lambda name: look_at(self.target.cluster, nodes_of[name], self._connect(name)))

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "role(*names): the check is for nodes with one of these roles")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "node" in metafunc.fixturenames:
            marker = metafunc.definition.get_closest_marker("role")
            nodes = [node for node in self.nodes if marker is None or node.has(*marker.args)]
            metafunc.parametrize("node", nodes, ids=[node.name for node in nodes])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        node = getattr(item, "callspec", None) and item.callspec.params.get("node")  # type: ignore[attr-defined]
        if node:
            self._backend(node.name).fail_if_lost()

    @pytest.fixture
    def cluster(self) -> Cluster:
        return self.target.cluster

    @pytest.fixture
    def host(self, node: Node) -> Host:
        return self._connect(node.name)

    @pytest.fixture
    def seen(self, node: Node) -> NodeLook:
        return self._look(node.name)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.trouble = str(report.longrepr).strip().splitlines()[-1]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and not report.failed:
            return
        if report.skipped:
            return
        name, _, node = report.nodeid.rpartition("::")[2].partition("[")
        check = name.removeprefix("test_").replace("_", " ")
        outcome = Outcome(check, node.rstrip("]"), report.passed, _why(report), round(report.duration, 3))
        self.outcomes.append(outcome)
        self.tell(outcome)


def _why(report: pytest.TestReport) -> str:
    if report.passed:
        return ""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    message = lines[0] if lines else "failed with no output"
    return textwrap.shorten(message.removeprefix("AssertionError: ").removeprefix("Failed: "), 300)
