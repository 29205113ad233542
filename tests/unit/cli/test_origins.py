"""Each command that changes nodes passes its name, the user and the commit to the engine, and loads the inventory once.

The engine writes them into the log of each node that it changes: `tests/engine/test_runner.py`.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from changing import change_of
from fake_controller import FakeController
from inventories import SMALL, copied

from gpupool.cli import upgrade as cli_upgrade
from gpupool.cluster import load as cluster_load
from gpupool.cluster.text import Text
from gpupool.engine.report import HostReport, NodeHost, Origin, Report
from gpupool.facts.hardware import Machine
from gpupool.joining import host_key, prepare
from gpupool.remote import controller as remote
from gpupool.remote.lock import whoami
from gpupool.run.runner import SITE
from gpupool.target import Target
from gpupool.upkeep import controllers

BACKUP = (
    "scheduler:",
    'slurm: {version: "24.11", backup: {to: /b}}\nscheduler:',
)
LOGIN = "keys: homes", "password_login: true"
PASSWORD = "account: red}", "account: red, first_password: must_change}"
THIRD = '"gpu-[1-2]", address: "10.90.2.[1-2]"', '"gpu-[1-3]", address: "10.90.2.[1-3]"'
BOX = Machine("x86_64", "", 64, 1, 64, 1, 510_000, 100_000, (), ("NVIDIA A40",) * 8, (), ())
COMMANDS = {
    "apply": [],
    "password": ["ann"],
    "restore": [],
    "maintain": ["--nodes", "gpu-1"],
    "upgrade": [],
    "rekey": [],
    "onboard": ["gpu-4", "10.90.2.4", "--host-key", "SHA256:known"],
    "retire": ["gpu-3"],
}


@dataclass
class Engine:
    """A fake engine: each run changes each node, and slurmctld knows the nodes that were applied."""

    slurm: Any = None
    origins: list[Origin | None] = field(default_factory=list)

    def run(
        self, hosts: Sequence[NodeHost], steps: object, *, execute: bool, origin: Origin | None,
        limit: Collection[str] | None, **_: object,
    ) -> Report:  # fmt: skip
        assert (origin is not None) == execute
        if execute:
            self.origins.append(origin)
        if execute and steps == SITE and self.slurm:
            known = hosts[0].data["cluster"].nodes
            self.slurm.nodes = {name: node for name, node in self.slurm.nodes.items() if name in known}
        change = change_of("Step | change")
        names = [host.name for host in hosts if limit is None or host.name in limit]
        return Report({name: HostReport(True, None, (change,), 1, 0.0) for name in names}, 0.0)


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=u-lab1", "-c", "user.email=u-lab1@example.org", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    site = copied(SMALL, tmp_path / "site", BACKUP, LOGIN, PASSWORD, THIRD)
    git(site, "init", "-q")
    git(site, "add", ".")
    git(site, "commit", "-qm", "first")
    return site


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Record each load of an inventory: whether it had a changed text."""
    seen: list[bool] = []
    read = cluster_load.read

    def counting(inventory: Path, instead: Any = None) -> Text:
        seen.append(bool(instead))
        return read(inventory, instead)

    monkeypatch.setattr(cluster_load, "read", counting)
    return seen


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Nodes behind a fake engine, a model of slurmctld and of machines that join."""
    engine = Engine()
    monkeypatch.setitem(sys.modules, "gpupool.engine.drive", SimpleNamespace(run=engine.run))

    @contextmanager
    def reach(target: Target) -> Iterator[FakeController]:
        folder = tmp_path / f"reached-{len(list(tmp_path.iterdir()))}"
        (folder / "none").mkdir(parents=True)
        controller = FakeController(target, folder)
        engine.slurm = controller.slurm
        for name, module in [*sys.modules.items()]:
            if re.match(r"gpupool\.(upkeep|upgrade|joining|remote)\b", name) and hasattr(module, "time"):
                monkeypatch.setattr(module, "time", controller.clock)
        yield controller

    monkeypatch.setattr(remote, "reach", reach)
    monkeypatch.setattr(controllers, "reach", reach)
    monkeypatch.setattr(controllers, "locked", lambda _: nullcontext(SimpleNamespace(ensure=lambda: None)))
    monkeypatch.setattr(prepare, "probe", lambda _, reached, *__: dict.fromkeys(reached, BOX))
    monkeypatch.setattr(host_key, "scan", lambda *_: ("ssh-ed25519 key",))
    monkeypatch.setattr(host_key, "fingerprint", lambda _: "SHA256:known")
    monkeypatch.setattr(host_key, "pinned", lambda *_: ())
    monkeypatch.setattr(host_key, "pin", lambda *_: None)
    monkeypatch.setattr(cli_upgrade, "checked", lambda *_: [])
    return engine


@pytest.mark.parametrize("command", COMMANDS)
def test_a_changing_command_names_itself_the_user_and_the_commit(
    command: str, engine: Engine, inventory: Path, loads: list[bool], gpupool: Callable[..., Any]
) -> None:
    commit = git(inventory, "rev-parse", "HEAD")
    yes = [] if command == "password" else ["--yes"]
    done = gpupool(command, inventory, *COMMANDS[command], *yes, "--on", "nodes")
    assert done.code == 0, done.err
    assert {*engine.origins} == {Origin(command, "small", whoami(), commit, uncommitted=False)}
    assert loads.count(False) == 1
    assert loads.count(True) == (command in ("onboard", "retire")), "a changed text is loaded once"
