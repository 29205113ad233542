#!/usr/bin/python3
"""Switch the containers of this testbed on and off, for the user who may open the socket of its unit.

It reads a line, `list`, `on NODE` or `off NODE`, and prints a JSON object: docker's state of each node, or `error`.
It runs as root on a controller of a testbed, because only root there can open docker's socket.
"""

import http.client
import json
import socket
import sys
import urllib.parse
from pathlib import Path

SOCKET, TESTBED = "/root/docker.sock", "/root/testbed"
_LABEL, _NODE = "gpupool.testbed", "gpupool.testbed.node"
_SHUTDOWN = 60  # seconds until a container that does not stop is killed


class Docker(http.client.HTTPConnection):
    """A connection to docker's API on its socket."""

    def connect(self) -> None:
        """Open the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


def ask(method: str, path: str) -> bytes:
    """Return docker's answer; OSError with docker's message if it refuses."""
    way = Docker("docker")
    way.request(method, path)
    answer = way.getresponse()
    text = answer.read()
    if answer.status >= http.client.BAD_REQUEST:
        raise OSError(json.loads(text).get("message", answer.reason))
    return text


def containers() -> dict[str, tuple[str, str]]:
    """Return docker's id and state of each node of this testbed."""
    label = f"{_LABEL}={Path(TESTBED).read_text().strip()}"
    filters = urllib.parse.quote(json.dumps({"label": [label]}))
    listed = json.loads(ask("GET", f"/containers/json?all=1&filters={filters}"))
    return {entry["Labels"][_NODE]: (entry["Id"], entry["State"]) for entry in listed if _NODE in entry["Labels"]}


def main(line: str) -> dict[str, str]:
    """Do what a line says; return what is to be printed."""
    act, _, node = line.strip().partition(" ")
    nodes = containers()
    if act == "list":
        return {name: state for name, (_, state) in nodes.items()}
    if node not in nodes:
        return {"error": f"there is no container {node}"}
    path = {"on": "start", "off": f"stop?t={_SHUTDOWN}"}[act]
    ask("POST", f"/containers/{nodes[node][0]}/{path}")
    return {}


if __name__ == "__main__":
    try:
        print(json.dumps(main(sys.stdin.readline())))
    except (OSError, http.client.HTTPException) as error:
        print(json.dumps({"error": str(error)}))
