"""A node and an outside network as two network namespaces: the effect of a table of nftables on connections.

`unshare -n python packets.py TABLE NODE ADDRESSES PORTS` (lists with commas between) prints as JSON which of the
addresses reach which of the node's ports, the text that came through a connection older than the table, and whether
another table was left alone. The table is loaded twice.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from itertools import product

OTHERS = "table inet theirs { chain c { type filter hook input priority 5; policy accept; counter; }; }\n"


def main(table: str, node: str, addresses: list[str], ports: list[int]) -> None:
    world = f"gpupool-{os.getpid()}"
    _run("ip", "netns", "add", world)
    try:
        _join(world, node, addresses)
        servers = [socket.create_server((node, port)) for port in ports]
        with _in(world, "old", node, addresses[-1], str(ports[0])) as old:
            assert old.stdin
            assert old.stdout
            assert old.stdout.readline() == "connected\n"
            connection = servers[0].accept()[0]
            subprocess.run(["nft", "-f", "-"], input=OTHERS, text=True, check=True)
            for _ in range(2):
                _run("nft", "-f", table)
            with _in(world, "reach", node, ",".join(addresses), ",".join(map(str, ports))) as reached:
                answers = json.loads(reached.communicate()[0])
            old.stdin.write("\n")
            old.stdin.flush()
            came = connection.recv(100).decode()
        _run("nft", "list", "chain", "inet", "theirs", "c")
    finally:
        _run("ip", "netns", "del", world)
    print(json.dumps({"reached": answers, "came": came}))


def _join(world: str, node: str, addresses: Iterable[str]) -> None:
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", world)
    _run("ip", "addr", "add", f"{node}/32", "dev", "near")
    _run("ip", "link", "set", "near", "up")
    _run("ip", "-n", world, "link", "set", "lo", "up")
    _run("ip", "-n", world, "link", "set", "far", "up")
    for address in addresses:
        _run("ip", "-n", world, "addr", "add", f"{address}/32", "dev", "far")
        _run("ip", "route", "add", f"{address}/32", "dev", "near")
    _run("ip", "-n", world, "route", "add", f"{node}/32", "dev", "far")


def _in(world: str, *arguments: str) -> "subprocess.Popen[str]":
    command = ["ip", "netns", "exec", world, sys.executable, __file__, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _run(*arguments: str) -> None:
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)


def reach(node: str, addresses: list[str], ports: list[int]) -> None:
    """Print whether each address reaches each port; a refused connection counts as reached."""
    answers = []
    for address, port in product(addresses, ports):
        with socket.socket() as client:
            client.bind((address, 0))
            answers.append(client.connect_ex((node, port)) == 0)
    print(json.dumps(answers))


def old(node: str, address: str, port: int) -> None:
    """Connect, and send a text once a line is read."""
    with socket.socket() as client:
        client.bind((address, 0))
        client.connect((node, port))
        print("connected", flush=True)
        sys.stdin.readline()
        client.sendall(b"still here")


def _ports(text: str) -> list[int]:
    return [int(port) for port in text.split(",")]


if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    if first == "reach":
        reach(rest[0], rest[1].split(","), _ports(rest[2]))
    elif first == "old":
        old(rest[0], rest[1], int(rest[2]))
    else:
        main(first, rest[0], rest[1].split(","), _ports(rest[2]))
