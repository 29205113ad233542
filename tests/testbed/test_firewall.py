"""The firewall of a node: a machine with an address of another network tries to connect, and one inside does."""

import subprocess
from collections.abc import Iterator

import pytest
from pace import until

from gpupool.testbed.look import ssh_command
from tests.testbed.cluster import Changed, Testbed, gpupool

NODE, INSIDE, OUTSIDER, HEAD = "clippy", "a40-01", "sky2", "sky1"
PORT = 8123
ADDRESS = "192.0.2.7"  # of the network for documentation, RFC 5737: not assigned to any host
PORTS = "  dev_ports: {range: 8000-9000, open_to: cluster, src: L462}\n"


def reaches(testbed: Testbed, here: str, node: str, port: int) -> bool:
    """Return whether a connection from a node is answered; a refused connection counts as an answer."""
    there = testbed.cluster.nodes[node].address
    done = testbed.run(here, f"bash -c ': </dev/tcp/{there}/{port}'")
    assert not done.returncode or "refused" in done.stderr, done.stderr
    return done.returncode == 0


@pytest.fixture
def server(idle: Testbed) -> Iterator[Testbed]:
    """Servers of a user on a port of a compute node and of a head."""
    start = f"systemd-run --quiet --unit server-{PORT} /usr/sbin/sshd -D -p {PORT}"
    for node in (NODE, HEAD):
        idle.out(node, start)
        until(lambda node=node: idle.run(node, f"ss -Hltn sport = :{PORT}").stdout, "the server listens")
    yield idle
    for node in (NODE, HEAD):
        idle.out(node, f"systemctl stop server-{PORT}")


@pytest.fixture
def outside(server: Testbed) -> Iterator[Testbed]:
    """One head connects to two nodes from an address outside the cluster."""
    way = server.cluster.nodes[OUTSIDER].address
    server.out(OUTSIDER, f"ip addr add {ADDRESS}/32 dev lo")
    for node in (NODE, HEAD):
        server.out(node, f"ip route add {ADDRESS}/32 via {way}")
        there = server.cluster.nodes[node].address
        server.out(OUTSIDER, f"ip route add {there}/32 dev eth0 src {ADDRESS}")
    yield server
    for node in (NODE, HEAD):
        server.out(node, f"ip route del {ADDRESS}/32")
        server.out(OUTSIDER, f"ip route del {server.cluster.nodes[node].address}/32")
    server.out(OUTSIDER, f"ip addr del {ADDRESS}/32 dev lo")


@pytest.fixture
def theirs(idle: Testbed) -> Iterator[str]:
    """A table of another program on the node."""
    chain = "type filter hook input priority 5; policy accept\ncounter"
    idle.out(NODE, "nft -f -", text=f"table inet theirs {{\nchain c {{\n{chain}\n}}\n}}\n")
    yield "table inet theirs"
    idle.out(NODE, "nft delete table inet theirs")


def tables(testbed: Testbed) -> list[str]:
    return testbed.out(NODE, "nft list tables").splitlines()


@pytest.mark.promise("SKY-166")
def test_ports_of_users_are_open_inside_and_closed_outside(outside: Testbed) -> None:
    for node in (NODE, HEAD):
        assert reaches(outside, INSIDE, node, PORT)
        assert not reaches(outside, OUTSIDER, node, PORT)
    # a tunnel through a head works nevertheless
    assert outside.target.testbed
    first, *rest = ssh_command(outside.target.testbed, HEAD, "u-kira1")
    words = [first, "-W", f"{outside.cluster.nodes[NODE].address}:{PORT}", *rest]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tunnel:
        assert tunnel.stdout
        assert tunnel.stdout.readline().startswith("SSH-2.0-")
        tunnel.kill()


@pytest.mark.promise("SKY-167")
def test_a_user_whose_port_is_in_use_takes_the_next(server: Testbed) -> None:
    taken = server.run(HEAD, f"srun -p short -w {NODE} python3 -m http.server {PORT}", "u-kira1")
    assert taken.returncode
    assert "Address already in use" in taken.stderr
    job = server.submit("u-kira1", f"-p short -w {NODE}", f"exec python3 -m http.server {PORT + 1}")
    server.wait_for(job, "RUNNING")
    until(lambda: reaches(server, INSIDE, NODE, PORT + 1), "colleagues inside reach the job's server")


def test_from_outside_only_heads_are_reached(outside: Testbed) -> None:
    assert reaches(outside, OUTSIDER, HEAD, 22)
    assert not reaches(outside, OUTSIDER, NODE, 22)
    assert reaches(outside, INSIDE, NODE, 22)
    # answers to the node's own connections are accepted
    assert outside.run(NODE, f"bash -c ': </dev/tcp/{ADDRESS}/22'").returncode == 0


def test_admins_are_admitted_from_their_networks(outside: Testbed, changed: Changed) -> None:
    testbed = changed("access.yml", "access:\n", f"access:\n  admin: {{networks: [{ADDRESS}/32]}}\n")
    done = testbed.apply("--limit", NODE)
    assert done.returncode == 0, done.stdout
    assert reaches(outside, OUTSIDER, NODE, 22)
    assert not reaches(outside, OUTSIDER, NODE, PORT)


def test_tables_of_others_are_kept_and_ours_refuses_nothing_without_the_policy(changed: Changed, theirs: str) -> None:
    changed("access.yml", "outside: [head]", "outside: []")
    testbed = changed("access.yml", PORTS, "")
    before = tables(testbed)
    assert {theirs, "table inet gpupool"} <= set(before)
    assert "reject" in testbed.out(NODE, "nft list table inet gpupool")
    done = testbed.apply("--limit", NODE)
    assert done.returncode == 0, done.stdout
    assert sorted(tables(testbed)) == sorted(before)
    assert "reject" not in testbed.out(NODE, "nft list table inet gpupool")
    assert testbed.plan("--limit", NODE) == (0, {})


def test_a_table_that_was_removed_is_loaded_again(idle: Testbed, theirs: str) -> None:
    assert idle.plan("--limit", NODE) == (0, {})
    idle.out(NODE, "nft delete table inet gpupool")
    done = gpupool("verify", idle.inventory, "--on", "testbed", "--limit", NODE)
    assert done.returncode == 1
    assert "table inet gpupool is not loaded" in done.stdout
    assert idle.plan("--limit", NODE) == (3, {NODE: ["Firewall loaded | table inet gpupool"]})
    assert idle.apply("--limit", NODE).returncode == 0
    assert {"table inet gpupool", theirs} <= set(tables(idle))
    assert idle.plan("--limit", NODE) == (0, {})


def test_the_table_is_loaded_when_the_node_starts(idle: Testbed) -> None:
    idle.switch_off(NODE)
    idle.switch_on(NODE)
    until(lambda: "table inet gpupool" in idle.run(NODE, "nft list tables").stdout, "the table is loaded at boot")
    state = "sinfo -h -n clippy -o %t"
    until(lambda: idle.out("marvin", state) == "idle", "the node is back", lambda: idle.out("marvin", state))
