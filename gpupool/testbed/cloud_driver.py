"""A testbed's cloud as a driver of Apache Libcloud: its machines are the containers of the testbed.

It is installed on the testbed's controllers only. It calls `cloud_switch.py` through a socket that only slurm can open.
"""

import json
import socket
from typing import Any

from libcloud.compute.base import Node, NodeDriver
from libcloud.compute.types import NodeState

SOCKET = "/run/testbed-switch.sock"
_STATES = {"running": NodeState.RUNNING, "exited": NodeState.STOPPED, "created": NodeState.STOPPED}


class Containers(NodeDriver):  # type: ignore[misc]  # libcloud is not installed where mypy runs
    """The containers of a testbed; a container is switched off by `docker stop`, like by its power button."""

    name = "Containers of a testbed"
    website = ""
    type = "containers"

    def __init__(self) -> None:
        """It needs no credentials."""

    def list_nodes(self) -> list[Any]:
        """Return all nodes of the testbed, on or off."""
        states = _ask("list").items()
        return [Node(name, name, _STATES.get(state, NodeState.PENDING), [], [], self) for name, state in states]

    def start_node(self, node: Any) -> bool:
        """Switch a container on; raise an error of docker."""
        _ask(f"on {node.name}")
        return True

    def stop_node(self, node: Any) -> bool:
        """Switch a container off, and return after it has stopped."""
        _ask(f"off {node.name}")
        return True


def _ask(line: str) -> dict[str, str]:
    with socket.socket(socket.AF_UNIX) as way:
        way.connect(SOCKET)
        way.sendall(f"{line}\n".encode())
        answer: dict[str, str] = json.loads(way.makefile().read())
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer
