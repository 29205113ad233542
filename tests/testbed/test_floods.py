"""Floods: a user holds hundreds of idle connections to a daemon, and the admin and all other users still reach it."""

import shlex
from collections.abc import Iterator

import pytest
from pace import until

from gpupool.compile.system.firewall import SOURCE_TO_SERVER, USER_TO_SLURM, USER_TO_SSHD
from tests.testbed.cluster import Testbed

HEAD, SERVER, NODE, WEB = "sky1", "marvin", "clippy", "optimus"
LOUD, OTHER = "u-wu1", "u-kira1"
FLOOD, TIMES = 300, 10

# A closed connection is opened again; each sends one byte, for which the daemon then waits.
HOLD = """
import socket, sys, time
hosts, port, most = sys.argv[1].split(","), int(sys.argv[2]), int(sys.argv[3])
def opened(number):
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex((hosts[number % len(hosts)], port))
    return client
def usable(client):
    try:
        client.send(b"0")
        return bool(client.recv(100))
    except BlockingIOError:
        return True
    except OSError:
        return False
held = [opened(number) for number in range(most)]
while True:
    held = [client if usable(client) else opened(number) for number, client in enumerate(held)]
    time.sleep(1)
"""


class Flood:
    """Idle connections of a user from the head, and how many of them a daemon has accepted."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed

    def start(self, hosts: str, port: int) -> None:
        words = ["/usr/bin/python3", "-c", HOLD, hosts, str(port), str(FLOOD)]
        unit = f"systemd-run --quiet --collect --unit flood --uid {LOUD}"
        self.testbed.out(HEAD, f"{unit} {shlex.join(words)}")

    def stop(self) -> None:
        self.testbed.run(HEAD, "systemctl stop flood")

    def accepted(self, server: str, port: int) -> int:
        source = "" if server == HEAD else f" and dst {self.testbed.cluster.nodes[HEAD].address}"
        return len(self.testbed.out(server, f"ss -Htn 'sport = :{port}{source}'").splitlines())


@pytest.fixture
def flood(idle: Testbed) -> Iterator[Flood]:
    """Return a flood that ends with the test."""
    own = Flood(idle)
    yield own
    own.stop()


def fill(flood: Flood, server: str, port: int, most: int, hosts: str = "") -> None:
    """Start a flood, and wait until it has what one user may have; a connection in its first moments is not counted."""
    flood.start(hosts or server, port)
    until(lambda: flood.accepted(server, port) >= most, "the flood arrives", lambda: str(flood.accepted(server, port)))


def test_the_admin_reaches_sshd_through_the_head_of_a_flood(flood: Flood) -> None:
    """A jump host opens the admin's connection from the address of the head, as the flood does."""
    fill(flood, SERVER, 22, USER_TO_SSHD)
    for _ in range(TIMES):
        assert flood.testbed.out(HEAD, f"ssh-keyscan -q -t ed25519 {SERVER}").startswith(f"{SERVER} ssh-ed25519 ")
    assert flood.accepted(SERVER, 22) <= USER_TO_SSHD + 5
    assert flood.testbed.plan("--limit", SERVER) == (0, {})


def test_one_address_does_not_take_all_connections_of_the_web_server(flood: Flood) -> None:
    fill(flood, WEB, 80, SOURCE_TO_SERVER)
    for _ in range(TIMES):
        assert "SkyNet" in flood.testbed.out(NODE, f"curl -s --max-time 5 http://{WEB}/wiki/skynet", OTHER)
    assert flood.accepted(WEB, 80) <= SOURCE_TO_SERVER + 5


def test_local_addresses_are_no_way_around_the_bound(flood: Flood) -> None:
    fill(flood, HEAD, 22, USER_TO_SSHD, ",".join(f"127.0.0.{number}" for number in range(1, 100)))
    assert flood.testbed.out(HEAD, f"ssh-keyscan -q -t ed25519 {HEAD}").startswith(f"{HEAD} ssh-ed25519 ")
    held = flood.testbed.out(HEAD, "ss -Htn 'sport = :22 and dst 127.0.0.0/8'").splitlines()
    assert USER_TO_SSHD / 2 < len(held) <= USER_TO_SSHD + 5


@pytest.mark.parametrize(
    ("server", "port", "command"),
    [
        pytest.param(SERVER, 6817, "squeue", id="slurmctld"),
        pytest.param(SERVER, 6819, "sacct", id="slurmdbd"),
        pytest.param(NODE, 6818, f"srun -p debug -w {NODE} hostname", id="slurmd"),
    ],
)
def test_a_daemon_of_slurm_answers_other_users_during_a_flood(
    flood: Flood, server: str, port: int, command: str
) -> None:
    """Without a bound, squeue of others times out from some 60 connections."""
    fill(flood, server, port, USER_TO_SLURM)
    for _ in range(TIMES):
        flood.testbed.out(HEAD, command, OTHER)
    assert flood.accepted(server, port) <= USER_TO_SLURM + 5
