"""Commands on nodes by OpenSSH's own client, on SSH servers in this process: behind jump hosts, on other ports."""

import contextlib
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from inventories import SMALL, cluster_at
from ssh_server import LOCAL, Server, serving

from gpupool.remote.controller import Controller, NoAnswerError, RefusedError
from gpupool.remote.nodes import Nodes
from gpupool.target import Target

SUDO = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
"""


@dataclass
class Site:
    """An admin's home and nodes of the small inventory, `ctl` behind the jump hosts `gate` and `inner`."""

    home: Path
    target: Target
    ctl: Server
    gate: Server
    inner: Server

    def configure(self, text: str = "") -> None:
        """Write the admin's ~/.ssh/config: `text`, and then the two jump hosts."""
        known = self.home / ".ssh" / "known_hosts"
        servers = (self.ctl, self.gate, self.inner)
        known.write_text("".join(Path(server.data["ssh_known_hosts_file"]).read_text() for server in servers))
        hosts = "".join(
            f"Host {name}\n  HostName {LOCAL}\n  Port {server.port}\n  User {server.user}\n"
            f"  IdentityFile {server.data['ssh_key']}\n{more}"
            for name, server, more in (("gate", self.gate, ""), ("inner", self.inner, "  ProxyJump gate\n"))
        )
        path = self.home / ".ssh" / "config"
        path.write_text(f"{text}{hosts}Host *\n  UserKnownHostsFile {known}\n")
        path.chmod(0o600)

    def behind(self) -> str:
        """Return the lines for `ctl`, by its address: behind both jump hosts."""
        return (
            f"Host {LOCAL}\n  ProxyJump inner\n  Port {self.ctl.port}\n  User {self.ctl.user}\n"
            f"  IdentityFile {self.ctl.data['ssh_key']}\n"
        )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / "bin").mkdir()
    sudo = tmp_path / "bin" / "sudo"  # these tests may run as a user other than root
    sudo.write_text(SUDO)
    sudo.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{sudo.parent}{os.pathsep}{os.environ['PATH']}")
    cluster = cluster_at(SMALL)
    nodes = {name: replace(node, address=LOCAL) for name, node in cluster.nodes.items()}
    target = Target(replace(cluster, nodes=nodes), None, {})
    with (
        serving(tmp_path / "ctl", "u-lab1") as ctl,
        serving(tmp_path / "gate", "u-lab2") as gate,
        serving(tmp_path / "inner", "u-lab3") as inner,
    ):
        site = Site(tmp_path, target, ctl, gate, inner)
        site.configure(site.behind())
        yield site


def test_a_node_behind_two_jumps_has_its_own_port_and_user(site: Site) -> None:
    with Nodes.of(site.target) as nodes:
        assert nodes.output_on("ctl", "echo", "it's", "here") == "it's here\n"
    assert site.gate.forwarded == [(LOCAL, site.inner.port)]
    assert site.inner.forwarded == [(LOCAL, site.ctl.port)]


def test_a_jump_may_have_the_name_of_a_node(site: Site) -> None:
    site.configure(site.behind().replace("inner", "gpu-1") + "Match originalhost gpu-1\n  ProxyJump none\n")
    text = (site.home / ".ssh" / "config").read_text()
    (site.home / ".ssh" / "config").write_text(text.replace("Host inner", "Host gpu-1"))
    with Nodes.of(site.target) as nodes:
        assert nodes.output_on("ctl", "echo", "here") == "here\n"


def test_commands_share_a_connection_that_is_closed_after_them(site: Site) -> None:
    with Nodes.of(site.target) as nodes:
        for count in range(3):
            nodes.output_on("ctl", "echo", str(count))
        assert len(site.ctl.transports) == 1
        folder = nodes.config.parent
        assert any(stat.S_ISSOCK(path.stat().st_mode) for path in folder.iterdir())
    assert not folder.exists()


def test_concurrent_commands_each_reach_their_node(site: Site, tmp_path: Path) -> None:
    """Commands on a shared connection to another node would be the worst mistake."""
    with serving(tmp_path / "second") as second:
        ports = {"ctl": site.ctl, "gpu-1": second}
        site.configure(
            "".join(
                f"Match originalhost {name}\n  Port {server.port}\n  User {server.user}\n"
                f"  IdentityFile {server.data['ssh_key']}\n"
                f"  UserKnownHostsFile {server.data['ssh_known_hosts_file']}\n"
                for name, server in ports.items()
            )
        )
        for name, server in ports.items():
            server.before = f"export NODE={name};"
        with Nodes.of(site.target) as nodes, ThreadPoolExecutor(4) as pool:
            names = [*ports] * 4
            assert list(pool.map(lambda name: nodes.output_on(name, "sh", "-c", "echo $NODE").strip(), names)) == names


def test_standard_input_and_the_exit_status_are_those_of_the_command(site: Site) -> None:
    with Nodes.of(site.target) as nodes:
        assert nodes.output_on("ctl", "cat", stdin="one\ntwo") == "one\ntwo"
        answer = nodes.run("ctl", "cat >&2; printf 'a\\377b'; exit 3", stdin=b"\xfe")
        assert (answer.code, answer.out, answer.err) == (3, b"a\xffb", b"\xfe")
        with pytest.raises(RefusedError, match=r"^ctl: sh: why not$") as refused:
            nodes.output_on("ctl", "sh", "-c", "echo some; echo why not >&2; exit 7")
    assert (refused.value.code, refused.value.printed, refused.value.errors) == (7, "some\n", "why not\n")


def test_the_output_of_a_login_shell_is_ignored(site: Site) -> None:
    site.ctl.before = "echo Welcome; echo gpupool-held;"
    with Nodes.of(site.target) as nodes:
        assert nodes.output_on("ctl", "echo", "here") == "here\n"


def test_a_login_shell_that_runs_no_command_is_named(site: Site) -> None:
    site.ctl.before = "echo This account is not available.; exit 1;"
    with Nodes.of(site.target) as nodes, pytest.raises(RefusedError, match="the login shell of u-lab1"):
        nodes.output_on("ctl", "true")


def test_a_command_that_takes_too_long_is_abandoned(site: Site) -> None:
    with Nodes.of(site.target) as nodes, pytest.raises(NoAnswerError, match="did not end within 1 s"):
        nodes.output_on("ctl", "sleep", "60", seconds=1)


def test_if_a_jump_is_lost_its_reason_is_reported(site: Site) -> None:
    site.configure(site.behind().replace("ProxyJump inner", "ProxyJump nowhere.invalid"))
    with Nodes.of(site.target) as nodes, pytest.raises(NoAnswerError, match=r"ctl: .*nowhere\.invalid"):
        nodes.output_on("ctl", "true")


def test_a_node_with_an_unknown_host_key_gets_no_login(site: Site) -> None:
    (site.home / ".ssh" / "known_hosts").write_text(Path(site.gate.data["ssh_known_hosts_file"]).read_text())
    site.configure(f"Host {LOCAL}\n  StrictHostKeyChecking no\n{site.behind()}")
    known = site.home / ".ssh" / "known_hosts"
    lines = [line for line in known.read_text().splitlines(keepends=True) if str(site.ctl.port) not in line]
    known.write_text("".join(lines))
    with Nodes.of(site.target) as nodes, pytest.raises(NoAnswerError, match="Host key verification failed"):
        nodes.output_on("ctl", "true")
    assert not site.ctl.asked.exists()


def test_the_host_key_of_a_machine_behind_jumps_is_read_without_a_login(site: Site) -> None:
    known = Path(site.ctl.data["ssh_known_hosts_file"]).read_text()
    with Nodes.of(site.target, {"fresh": LOCAL}) as nodes:
        assert nodes.host_keys("fresh") == [known.partition(" ")[2].strip()]
        assert nodes.host_keys("fresh", "ssh-ed25519") == nodes.host_keys("fresh")
        with pytest.raises(NoAnswerError):
            nodes.host_keys("fresh", "rsa-sha2-512")
    assert not site.ctl.asked.exists()


def test_a_file_is_fetched_byte_by_byte_and_readable_for_its_owner_only(site: Site, tmp_path: Path) -> None:
    site.ctl.before = "echo Welcome;"
    content = os.urandom(200_000) + b"\ngpupool-begin\n"
    (tmp_path / "backup").write_bytes(content)
    with Nodes.of(site.target) as nodes:
        nodes.fetch("ctl", str(tmp_path / "backup"), tmp_path / "copy", seconds=60)
        assert (tmp_path / "copy").read_bytes() == content
        assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o600
        with pytest.raises(RefusedError, match=r"ctl: cannot read /nowhere: .*No such file"):
            nodes.fetch("ctl", "/nowhere", tmp_path / "other", seconds=60)


def test_a_session_lasts_as_long_as_its_standard_input(site: Site) -> None:
    with Nodes.of(site.target) as nodes:
        nodes.output_on("ctl", "true")
        session = nodes.session("ctl", "sh", "-c", "echo begun; cat >/dev/null; echo ended")
        assert session.stdin
        assert session.stdout
        assert "begun\n" in iter(session.stdout.readline, "")
        assert session.poll() is None
        session.stdin.close()
        assert session.stdout.read() == "ended\n"
        assert session.wait() == 0
    assert len(site.ctl.transports) == 2, "a session has a separate connection"


@contextlib.contextmanager
def two_controllers(site: Site, tmp_path: Path) -> Iterator[Controller]:
    """`ctl` and then `gpu-1` as controllers, distinguished by their ports."""
    cluster = site.target.cluster
    roles = {name: replace(node, roles=("controller",)) for name, node in cluster.nodes.items() if name != "gpu-2"}
    with serving(tmp_path / "second") as second:
        site.configure(
            "".join(
                f"Match originalhost {name}\n  Port {server.port}\n  User {server.user}\n"
                f"  IdentityFile {server.data['ssh_key']}\n"
                f"  UserKnownHostsFile {server.data['ssh_known_hosts_file']}\n"
                for name, server in (("ctl", site.ctl), ("gpu-1", second))
            )
        )
        with Controller.of(replace(site.target, cluster=replace(cluster, nodes=cluster.nodes | roles))) as controller:
            yield controller


def test_the_second_controller_is_used_if_the_first_does_not_answer(site: Site, tmp_path: Path) -> None:
    silent = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    with two_controllers(site, tmp_path) as controller:
        assert [node.name for node in controller.target.cluster.controllers] == ["ctl", "gpu-1"]
        assert controller.first() == "ctl"
        once = tmp_path / "once"
        script = f"[ -e {once} ] && echo second || {{ touch {once}; echo '{silent}' >&2; exit 1; }}"
        assert controller.ask("sh", "-c", script) == "second\n"
        with pytest.raises(RefusedError, match="Invalid node name"):
            controller.ask("sh", "-c", "echo scontrol: Invalid node name >&2; exit 1")
        with pytest.raises(NoAnswerError, match=r"no controller answers: gpu-1: sh: .*Unable to contact"):
            controller.ask("sh", "-c", f"echo '{silent}' >&2; exit 1")
