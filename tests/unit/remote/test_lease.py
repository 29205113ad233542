"""A lock on a node, held by OpenSSH's own client on an SSH server in this process."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from inventories import SMALL, cluster_at
from pace import until
from ssh_server import LOCAL, Server, serving

from gpupool.errors import GpupoolError
from gpupool.remote import lock
from gpupool.remote.lease import leased
from gpupool.remote.nodes import Nodes
from gpupool.target import Target


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "node") as server:
        yield server


@pytest.fixture
def nodes(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.2)
    (tmp_path / ".ssh").mkdir()
    config = tmp_path / ".ssh" / "config"
    config.write_text(
        f"Host *\n  Port {server.port}\n  IdentityFile {server.data['ssh_key']}\n"
        f"  UserKnownHostsFile {server.data['ssh_known_hosts_file']}\n"
    )
    config.chmod(0o600)
    cluster = cluster_at(SMALL)
    at = {name: replace(node, address=LOCAL) for name, node in cluster.nodes.items()}
    with Nodes.of(Target(replace(cluster, nodes=at), None, {})) as nodes:
        yield nodes


def test_one_run_at_a_time_holds_the_lock(nodes: Nodes, tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with leased(nodes, "ctl", path, "doing maintenance") as held:
        held.ensure()
        refusal = r"^ctl: \S+@\S+ has been doing maintenance since \d\d:\d\d; nothing was changed"
        with pytest.raises(GpupoolError, match=refusal), leased(nodes, "ctl", path, "doing maintenance"):
            pytest.fail("both hold it")
        held.ensure()
    with leased(nodes, "ctl", path, "doing maintenance"):
        pass


def test_a_lock_whose_connection_is_lost_is_noticed(nodes: Nodes, server: Server, tmp_path: Path) -> None:
    with leased(nodes, "ctl", str(tmp_path / "lock"), "doing maintenance") as held:
        server.transports[-1].close()

        def is_lost() -> bool:
            try:
                held.ensure()
            except GpupoolError as error:
                return "run the same command again to continue" in str(error)
            return False

        until(is_lost, "the loss is noticed")


def test_heartbeats_keep_the_lock_and_silence_releases_it(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LEASE_SECONDS", 1)
    monkeypatch.setattr(lock, "BEAT_SECONDS", 0.1)
    path = str(tmp_path / "lock")
    with leased(nodes, "ctl", path, "doing maintenance") as held:
        nodes.output_on("ctl", "sleep", "3")
        held.ensure()
    monkeypatch.setattr(lock, "BEAT_SECONDS", 1000)
    monkeypatch.setattr(lock, "WAIT_SECONDS", 30)
    with (
        leased(nodes, "ctl", path, "doing maintenance"),
        leased(nodes, "ctl", path, "doing maintenance") as second,
    ):
        second.ensure()


def test_a_node_that_cannot_be_reached_is_not_locked(nodes: Nodes, server: Server, tmp_path: Path) -> None:
    Path(server.data["ssh_known_hosts_file"]).write_text("")
    with (
        pytest.raises(GpupoolError, match="keeps others from doing maintenance: no answer"),
        leased(nodes, "ctl", str(tmp_path / "lock"), "doing maintenance"),
    ):
        pytest.fail("it is held")
