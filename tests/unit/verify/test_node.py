"""The complaints of the checks about a node with faults."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpupool.cluster.load import load
from gpupool.verify import test_node

EXAMPLE = load(Path(__file__).parents[3] / "inventory" / "example")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"


class Node:
    """A node that prints the same text for every command, or a text for each."""

    def __init__(self, text: str = "", **texts: str) -> None:
        self._text, self._texts = text, texts

    def run(self, command: str) -> Any:
        return subprocess.run(["printf", "%s", self._text], capture_output=True, text=True, check=True)

    def check_output(self, command: str) -> str:
        return self._texts[command.split()[1]].strip()


def check_known_hosts(*names: str) -> None:
    at: Any = Node("".join(f"{name},10.0.0.1 {KEY}\n" for name in names))
    test_node.test_host_keys_of_all_nodes_are_known(EXAMPLE, at, at)


def test_names_without_the_right_address_are_named_although_getent_fails() -> None:
    wanted = {other.fqdn: other.address for other in EXAMPLE.nodes.values() if other.address}
    lost, moved = list(wanted)[1:3]
    lines = {name: f"{address} {name}" for name, address in wanted.items() if name != lost}
    lines[moved] = f"192.0.2.1 {moved}"
    at: Any = Node("\n".join(lines.values()))
    with pytest.raises(AssertionError, match=rf"at the inventory's address: {lost}, {moved} \(`gpupool apply`"):
        test_node.test_node_resolves_the_names_of_all_others(EXAMPLE, at, at)


def test_missing_host_keys_of_other_nodes_are_named() -> None:
    here = [node.name for node in EXAMPLE.nodes.values() if node.managed and node.address]
    check_known_hosts(*here)
    with pytest.raises(AssertionError, match=rf"no host key in /etc/ssh/ssh_known_hosts of: {here[1]}, {here[2]}\n"):
        check_known_hosts(here[0], *here[3:])


def test_a_user_who_left_the_inventory_is_named_until_the_account_has_expired() -> None:
    gid = next(account.entry.gid for account in EXAMPLE.accounts.values() if account.entry.gid)
    passwd = "\n".join(
        [
            *(
                f"{user.name}:x:{user.uid}:{user.gid or 5000}::/home/{user.name}:/bin/bash"
                for user in EXAMPLE.users.values()
            ),
            f"u-left1:x:20901:{gid}::/home/u-left1:/bin/bash",
            f"u-ended1:x:20902:{gid}::/home/u-ended1:/bin/bash",
            "u-local1:x:20903:20903::/home/u-local1:/bin/bash",
        ]
    )
    shadow = "u-left1:!:20000:0:99999:7::99999:\nu-ended1:!:20000:0:99999:7::1:\nroot:*:20000:0:99999:7:::"

    def look(passwd: str) -> None:
        at: Any = Node(passwd=passwd, shadow=shadow)
        test_node.test_removed_users_cannot_log_in(EXAMPLE, at, at)

    with pytest.raises(AssertionError, match=r"may log in: u-left1 \(to end that: usermod --expiredate 1 u-left1\)"):
        look(passwd)
    look("\n".join(line for line in passwd.splitlines() if "u-left1" not in line))


def test_an_open_account_and_a_session_of_a_removed_user_are_named() -> None:
    def look(*lines: str) -> None:
        at: Any = Node("\n".join((*lines, "gpupool-end\n")))
        test_node.test_removed_users_have_no_session(EXAMPLE, at, at)

    look("m:u-left1:20901", "d:u-left1:1:0")
    with pytest.raises(AssertionError, match=r"may log in: u-left1 \(`gpupool apply` ends that\)"):
        look("m:u-left1:20901", "d:u-left1::0")
    with pytest.raises(AssertionError, match=r"removed users: u-left1 \(2\)"):
        look("m:u-left1:20901", "d:u-left1:1:2")
