"""What several tests of this layer need."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from inventories import INVENTORY, STORED

from gpupool import cli
from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster


@pytest.fixture(scope="session")
def skynet() -> Cluster:
    """SkyNet, of which most promises are."""
    return load(INVENTORY / "skynet")


@pytest.fixture(scope="session")
def stored() -> Cluster:
    """The small cluster with storage."""
    return load(STORED)


@dataclass(frozen=True)
class Done:
    """What a command did: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def gpupool(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run the command line in this process: a process of its own for each test would take minutes."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["gpupool", *map(str, arguments)])
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        return Done(code if isinstance(code, int) else 1, out, err)

    return run
