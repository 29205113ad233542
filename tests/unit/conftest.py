"""Fixtures that several tests of this layer use."""

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_controller import FakeController
from inventories import INVENTORY, SMALL, STORED, cluster_at
from printed import command_of, problems

from gpupool import cli
from gpupool.cluster.model import Cluster
from gpupool.target import Target

#: Modules that use the fake's clock.
_TIMED = re.compile(r"gpupool\.(upkeep|upgrade|joining|remote|run|rolling)\b")


@pytest.fixture(scope="session")
def skynet() -> Cluster:
    """Yield SkyNet, the cluster of most promises."""
    return cluster_at(INVENTORY / "skynet")


@pytest.fixture(scope="session")
def stored() -> Cluster:
    """The small cluster with storage."""
    return cluster_at(STORED)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeController:
    """The small cluster, with a model of slurmctld behind its controller; time only passes while code waits."""
    # OpenSSH's configuration is in the home
    monkeypatch.setenv("HOME", str(tmp_path))
    controller = FakeController(Target(cluster_at(SMALL), None, {}), tmp_path)
    for name, module in [*sys.modules.items()]:
        if _TIMED.match(name) and getattr(module, "time", None) is time:
            monkeypatch.setattr(module, "time", controller.clock)
    return controller


@dataclass(frozen=True)
class Done:
    """The result of a command: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def gpupool(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Return a function that runs the command line in this process: a process for each test would take minutes.

    JSON that it prints must match its published schema.
    """

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["gpupool", *map(str, arguments)])
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        if out and (command := command_of([*map(str, arguments)])):
            assert problems(command, json.loads(out)) == []
        return Done(code if isinstance(code, int) else 1, out, err)

    return run
