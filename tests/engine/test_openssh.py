"""Connections by OpenSSH's configuration, to SSH servers in this process: jump hosts, ports, users, keys, aliases."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from origin import ORIGIN
from pace import start
from pyinfra.operations import server
from ssh_server import LOCAL, Server, serving

from gpupool.engine import ssh
from gpupool.engine.drive import NodeHost, run


@dataclass
class Site:
    """A node, two jump hosts to it, and the configuration of all three."""

    folder: Path
    node: Server
    jumps: list[Server]
    options: list[str] = field(default_factory=list)  # options of the node

    def failure(self) -> str | None:
        """Return the reason why a run on the node fails."""
        hosts = {"node": self.node, "outer": self.jumps[0], "inner": self.jumps[1]}
        known = self.folder / "known"
        known.write_text("".join(Path(host.data["ssh_known_hosts_file"]).read_text() for host in hosts.values()))
        lines = [
            f"Host {name}\n HostName {LOCAL}\n Port {host.port}\n User {host.user}\n"
            f" IdentityFile {host.data['ssh_key']}"
            for name, host in hosts.items()
        ]
        lines += ["Host node", *self.options, "Host *", f"UserKnownHostsFile {known}", "BatchMode yes"]
        (self.folder / "config").write_text("\n".join(lines) + "\n")
        command = ["ssh", "-F", str(self.folder / "config"), "node"]
        host = NodeHost("n1", (), {"ssh_hostname": "unused", "ssh_command": command})
        report = run([host], lambda: server.shell(name="work", commands=["true"]), execute=True, origin=ORIGIN)
        return report.hosts["n1"].failure


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with (
        serving(tmp_path / "node", "u-lab1") as node,
        serving(tmp_path / "outer", "u-lab2") as outer,
        serving(tmp_path / "inner", "u-lab3") as inner,
    ):
        yield Site(tmp_path, node, [outer, inner])


def test_a_node_has_its_own_port_and_user(site: Site) -> None:
    assert site.failure() is None
    assert [jump.forwarded for jump in site.jumps] == [[], []]


def test_a_node_whose_login_takes_long_is_reached_and_one_without_an_answer_is_named(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = start()
    site.node.considers = 2 * limit
    monkeypatch.setattr(ssh, "ANSWER_SECONDS", limit)  # a busy node accepts connections at once
    assert site.failure() is None
    monkeypatch.setattr(ssh, "LOGIN_SECONDS", limit)
    words = f"the login took more than {limit:g} s: the node is overloaded, or its sshd hangs"
    assert site.failure() == f"cannot be reached: {words}"


@pytest.mark.parametrize("jumps", ["outer,inner", f"outer,u-lab3@{LOCAL}:PORT"])
def test_a_node_behind_two_jumps(site: Site, jumps: str) -> None:
    outer, inner = site.jumps
    site.options = [f"ProxyJump {jumps.replace('PORT', str(inner.port))}"]
    if "PORT" in jumps:  # the key is not in a block for that name
        site.options += [f"Host {LOCAL}", f"IdentityFile {inner.data['ssh_key']}"]
    assert site.failure() is None
    assert outer.forwarded == [(LOCAL, inner.port)]
    assert inner.forwarded == [(LOCAL, site.node.port)]


def test_a_proxy_command_of_the_admin_leads_to_a_node(site: Site) -> None:
    config = site.folder / "config"
    site.options = [f"ProxyCommand ssh -F {config} -W %h:%p outer"]
    assert site.failure() is None
    assert site.jumps[0].forwarded == [(LOCAL, site.node.port)]


def test_a_jump_that_refuses_is_named_with_its_reason(site: Site) -> None:
    site.options = ["ProxyJump outer"]
    (site.folder / "outer" / "login").write_text((site.folder / "inner" / "login").read_text())
    failure = site.failure()
    assert failure is not None
    assert "Permission denied" in failure


def test_a_node_has_the_host_key_of_its_alias(site: Site) -> None:
    site.options = ["HostKeyAlias other"]
    failure = site.failure()
    assert failure is not None
    assert "its host key is not in" in failure
    site.options = [f"HostKeyAlias [{LOCAL}]:{site.node.port}"]
    assert site.failure() is None


def test_no_process_of_a_jump_is_left(site: Site) -> None:
    site.options = ["ProxyJump outer"]
    assert site.failure() is None
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    names = [Path(f"/proc/{child}/comm").read_text().strip() for child in children]
    assert "ssh" not in names
