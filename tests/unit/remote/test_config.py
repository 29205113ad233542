"""The configuration of OpenSSH's client: the output of `ssh -G` for nodes and for jump hosts."""

import subprocess
from pathlib import Path

import pytest
from inventories import SMALL, copied

from gpupool.errors import GpupoolError
from gpupool.remote import config
from gpupool.remote.nodes import Nodes
from gpupool.target import Target, find_target

# nodes of the small inventory: ctl is 10.90.1.1, gpu-1 10.90.2.1
ADMIN = """
Host gate
  HostName 10.90.9.9
  User u-lab1
Host ctl
  HostName ctl.example.edu
Host gpu-*
  Port 2222
  IdentityFile ~/.ssh/by_name
Host 10.90.*
  ProxyJump gate,ctl
  User ops
Match final host 10.90.2.2
  Compression yes
Host *
  RequestTTY force
  RemoteCommand tmux
  SendEnv EDITOR
  StrictHostKeyChecking no
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An admin's home, empty at first."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / ".ssh").mkdir()
    return tmp_path


def configured(home: Path, text: str) -> None:
    path = home / ".ssh" / "config"
    path.write_text(text)
    path.chmod(0o600)


def small(home: Path, admin: str = "") -> Target:
    """Return the small inventory, with `access.admin`."""
    change = ("keys: homes", f"keys: homes, admin: {{{admin}}}")
    return find_target(copied(SMALL, home / "site", change) if admin else SMALL, "nodes")


def settings(target: Target, node: str, *names: str) -> list[str]:
    with Nodes.of(target) as nodes:
        made = nodes.settings(node)
    return [made.get(name, "") for name in names]


def of_jump(home: Path, target: Target, name: str) -> dict[str, str]:
    """Return the options that OpenSSH uses for `ssh -F FILE -W … NAME`, which it starts for a jump host."""
    file = home / "config"
    file.write_text(config.text(target))
    shown = subprocess.check_output(["ssh", "-F", str(file), "-G", name], text=True)
    return {key: value for key, _, value in (line.partition(" ") for line in reversed(shown.splitlines()))}


def test_without_a_configuration_the_login_is_root_on_port_22(home: Path) -> None:
    assert settings(small(home), "ctl", "user", "port", "hostname", "proxyjump") == ["root", "22", "10.90.1.1", ""]


def test_blocks_for_the_name_and_for_the_address_of_a_node_both_apply(home: Path) -> None:
    configured(home, ADMIN)
    assert settings(small(home), "gpu-1", "user", "port", "hostname", "proxyjump") == [
        "ops",
        "2222",
        "10.90.2.1",
        "gate,ctl",
    ]
    assert settings(small(home), "gpu-1", "identityfile") == ["~/.ssh/by_name"]
    assert settings(small(home), "gpu-2", "compression") == ["yes"]


def test_the_inventory_overrides_the_admins_configuration(home: Path) -> None:
    configured(home, ADMIN)
    target = small(home, "user: fleet, port: 2200, key: ~/.ssh/pool key")
    assert settings(target, "gpu-1", "user", "port", "identityfile") == ["fleet", "2200", f"{home}/.ssh/pool key"]
    assert settings(small(home, "user: root"), "gpu-1", "user", "port") == ["root", "2222"]


def test_the_address_of_a_node_is_that_of_the_inventory(home: Path) -> None:
    """Another cluster may have a node with that name."""
    configured(home, ADMIN)
    assert settings(small(home), "ctl", "hostname") == ["10.90.1.1"]


def test_a_jump_host_has_the_settings_of_the_admins_own_ssh(home: Path) -> None:
    """A jump host with the name of a node has the admin's address; no jump host is looked up by its address as well."""
    configured(home, ADMIN.replace("Match final host 10.90.2.2\n  Compression yes\n", ""))
    jumps = [of_jump(home, small(home), name) for name in ("gate", "ctl")]
    assert [(jump["hostname"], jump["user"], jump.get("proxyjump")) for jump in jumps] == [
        ("10.90.9.9", "u-lab1", None),
        ("ctl.example.edu", jumps[1]["user"], None),
    ]
    assert jumps[1]["user"] != "ops"
    assert all(jump["batchmode"] == "yes" for jump in jumps), "no jump asks for a password in the midst of a command"


def test_ssh_asks_nothing_opens_no_terminal_and_trusts_no_unknown_host_key(home: Path) -> None:
    configured(home, ADMIN)
    names = ("batchmode", "requesttty", "stricthostkeychecking", "remotecommand", "sendenv", "forwardagent")
    assert settings(small(home), "ctl", *names) == ["yes", "false", "true", "", "", "no"]


def test_a_node_gets_neither_the_admins_agent_nor_a_tunnel(home: Path) -> None:
    configured(home, f"{ADMIN}  ForwardAgent yes\n  ForwardX11 yes\n  RemoteForward 9000 localhost:22\n")
    names = ("forwardagent", "forwardx11", "clearallforwardings")
    assert settings(small(home), "ctl", *names) == ["no", "no", "yes"]


def test_a_node_that_hangs_is_abandoned(home: Path) -> None:
    names = ("connecttimeout", "serveraliveinterval", "serveralivecountmax")
    assert settings(small(home), "ctl", *names) == ["30", "15", "3"]


def test_an_error_in_the_admins_file_is_reported_with_its_place(home: Path) -> None:
    configured(home, "Host *\n  Prot 22\n")
    with Nodes.of(small(home)) as nodes, pytest.raises(GpupoolError, match=r"ctl: ssh: .*config.*"):
        nodes.settings("ctl")


def test_unmanaged_nodes_are_not_reached(home: Path) -> None:
    with Nodes.of(small(home)) as nodes, pytest.raises(GpupoolError, match="elsewhere: gpupool does not log in there"):
        nodes.settings("elsewhere")
