"""What the checks of a node say of one that is not as it should be."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpupool.cluster.load import load
from gpupool.verify import test_node

EXAMPLE = load(Path(__file__).parents[3] / "inventory" / "example")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"


class Node:
    """A node that prints a text, whatever it is asked."""

    def __init__(self, text: str) -> None:
        self._text = text

    def run(self, command: str) -> Any:
        return subprocess.run(["printf", "%s", self._text], capture_output=True, text=True, check=True)


def known(*names: str) -> None:
    at: Any = Node("".join(f"{name},10.0.0.1 {KEY}\n" for name in names))
    test_node.test_host_keys_of_all_nodes_are_known(EXAMPLE, at, at)


def test_a_node_that_does_not_know_another_ones_host_key_is_told_which() -> None:
    here = [it.name for it in EXAMPLE.nodes.values() if it.managed and it.address and not it.elastic]
    known(*here)
    with pytest.raises(AssertionError, match=rf"no host key in /etc/ssh/ssh_known_hosts of: {here[1]}, {here[2]}\n"):
        known(here[0], *here[3:])
