"""DeployRunner: every run that changes a node records its command, the user and the commit there."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from inventories import SMALL
from pyinfra.operations import server
from ssh_server import Server, serving

import gpupool.engine.drive  # noqa: F401 - before the first thread, as it replaces them
from gpupool.cluster.load import load
from gpupool.remote.lock import whoami
from gpupool.run.runner import DeployRunner
from gpupool.target import Target


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A node that the admin's ~/.ssh/config leads to."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving(tmp_path / "node") as served:
        options = {
            "Port": served.port,
            "IdentityFile": served.data["ssh_key"],
            "UserKnownHostsFile": served.data["ssh_known_hosts_file"],
        }
        (tmp_path / ".ssh").mkdir()
        lines = ["Host 127.0.0.1", *(f"  {name} {value}" for name, value in options.items())]
        (tmp_path / ".ssh" / "config").write_text("\n".join(lines) + "\n")
        (tmp_path / ".ssh" / "config").chmod(0o600)
        yield served


def work() -> None:
    server.shell(name="work", commands=["true"])


def runner(inventory: Path) -> DeployRunner:
    """Return a runner for only the controller of the small inventory, which is a server in this process."""
    cluster = load(SMALL)
    nodes = {name: replace(node, address="127.0.0.1", managed=name == "ctl") for name, node in cluster.nodes.items()}
    return DeployRunner(Target(replace(cluster, nodes=nodes), None, {}, inventory), "restore")


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=u-lab1", "-c", "user.email=u-lab1@example.org", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_changed_node_has_the_command_the_user_and_the_commit_in_its_log(node: Server, tmp_path: Path) -> None:
    inventory = tmp_path / "site"
    inventory.mkdir()
    (inventory / "nodes.yml").write_text("nodes: []\n")
    git(inventory, "init", "-q")
    git(inventory, "add", ".")
    git(inventory, "commit", "-qm", "first")
    assert runner(inventory).deploy(work, ["ctl"], execute=True).ok
    begin, _ = map(json.loads, (node.asked.parent / "log" / "applies.jsonl").read_text().splitlines())
    assert begin["command"] == "restore"
    assert begin["who"] == whoami()
    assert begin["cluster"] == load(SMALL).name
    assert (begin["commit"], begin["uncommitted"]) == (git(inventory, "rev-parse", "HEAD"), False)


def test_a_runner_for_another_target_has_the_same_command(node: Server, tmp_path: Path) -> None:
    first = runner(tmp_path)
    other = first.to(replace(first.target, cluster=load(SMALL)))
    assert other.origin == first.origin


def test_without_nodes_there_is_no_run(node: Server, tmp_path: Path) -> None:
    assert runner(tmp_path).deploy(work, [], execute=True).hosts == {}
    assert not node.asked.exists()
