"""Run the checks on the nodes with pytest, in this process, and return the outcomes as data."""

import textwrap
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.remote.nodes import Nodes
from gpupool.target import Target
from gpupool.verify.backend import NodeBackend
from gpupool.verify.looks import NodeLook, look_at
from gpupool.verify.node_host import NodeHost
from gpupool.verify.scope import NotChecked, not_checked, only_if
from gpupool.verify.state import ClusterState
from gpupool.verify.survey import Seen, survey

CHECKS = Path(__file__).parent
_NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check on one node; `why` is one line if the check failed.

    `not_checked` is the reason if the check could not be made; it has then neither passed nor failed.
    """

    check: str
    node: str
    ok: bool
    why: str = ""
    seconds: float = 0.0
    not_checked: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as plain JSON types."""
        return asdict(self)


def run(target: Target, limit: set[str] | None, tell: Callable[[Outcome], None]) -> list[Outcome]:
    """Run every check on the nodes in `limit` (None: all), and call `tell` with each outcome as soon as it is known."""
    with Nodes.of(target) as nodes:
        names = {node.name for node in target.nodes if limit is None or node.name in limit}
        plugin = _Checks(nodes, names, survey(nodes, names), tell)
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

    def __init__(
        self, nodes: Nodes, names: set[str], seen: Mapping[str, Seen], tell: Callable[[Outcome], None]
    ) -> None:
        self.target = nodes.target
        self.tell = tell
        self.outcomes: list[Outcome] = []
        self.nodes = []
        for node in self.target.nodes:
            if node.name in names and not seen[node.name].unreachable:
                self.nodes.append(node)
            elif node.name in names:
                self._add(Outcome("a login", node.name, False, f"cannot be reached: {seen[node.name].unreachable}"))
        self.trouble = ""
        self._state = ClusterState(self.target.cluster, seen)
        self._backend = cache(lambda name: NodeBackend(name, nodes))
        self._connect = cache(lambda name: NodeHost(self._backend(name)))
        nodes_of = self.target.cluster.nodes
        self._look = cache(lambda name: look_at(self.target.cluster, nodes_of[name], self._connect(name)))

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "role(*names): the check is for nodes with one of these roles")
        config.addinivalue_line("markers", "manages(*roles): the check is for nodes where gpupool manages one of these")
        config.addinivalue_line("markers", "needs(*daemons): the check asks these daemons of Slurm")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "node" in metafunc.fixturenames:
            marker = metafunc.definition.get_closest_marker("role")
            managed = metafunc.definition.get_closest_marker("manages")
            nodes = [
                node
                for node in self.nodes
                if (marker is None or node.has(*marker.args)) and (managed is None or node.manages(*managed.args))
            ]
            metafunc.parametrize("node", nodes, ids=[node.name for node in nodes])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        call = getattr(item, "callspec", None)
        node: Node | None = call.params.get("node") if call else None
        if node is None:
            return
        # the first check that met this has failed with the reason
        only_if(not self._backend(node.name).lost)
        marker = item.get_closest_marker("needs")
        for daemon in marker.args if marker else ():
            if trouble := self._state.blocked(node, daemon):
                not_checked(trouble)

    @pytest.fixture
    def cluster(self) -> Cluster:
        return self.target.cluster

    @pytest.fixture
    def host(self, node: Node) -> Host:
        return self._connect(node.name)

    @pytest.fixture
    def seen(self, node: Node) -> NodeLook:
        return self._look(node.name)

    @pytest.fixture
    def state(self) -> ClusterState:
        return self._state

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.trouble = str(report.longrepr).strip().splitlines()[-1]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.excinfo and isinstance(call.excinfo.value, NotChecked):
            report.user_properties.append((_NOT_CHECKED, str(call.excinfo.value)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        name, _, node = report.nodeid.rpartition("::")[2].partition("[")
        check = name.removeprefix("test_").replace("_", " ")
        # only `pytest_runtest_makereport` adds one
        skipped = next((str(reason) for _, reason in report.user_properties), "")
        if report.skipped and not skipped:
            return
        why = "" if report.skipped else _why(report)
        self._add(Outcome(check, node.rstrip("]"), not report.failed, why, round(report.duration, 3), skipped))

    def _add(self, outcome: Outcome) -> None:
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
