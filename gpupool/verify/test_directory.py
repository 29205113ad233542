"""Users of the directory are known on nodes, if the inventory has a directory."""

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system.directory import DOMAIN, PASSWORD
from gpupool.compile.system.members import roster_for
from gpupool.facts.directory import Client, Members
from gpupool.operations.members import people
from gpupool.unix import SYSTEMD_UIDS
from gpupool.verify.asked import asked
from gpupool.verify.scope import not_applicable, only_if
from gpupool.verify.state import ClusterState

pytestmark = pytest.mark.manages("directory")


def test_users_of_the_directory_are_known(cluster: Cluster, node: Node, host: Host, state: ClusterState) -> None:
    if cluster.directory is None:
        not_applicable()
    client = asked(host, Client, password=PASSWORD)
    assert client, "nsswitch.conf and PAM cannot be read"
    assert {"passwd", "group"} <= set(client.nss), "nsswitch.conf does not ask sssd for users and groups"
    assert client.pam, "PAM does not ask sssd"
    assert client.password or not cluster.directory.bind_dn, f"the password of {cluster.directory.bind_dn} is missing"
    only_if(state.of(node).units["sssd.service"].is_active)
    status = host.run(f"sssctl domain-status -o -- {DOMAIN} </dev/null").stdout.split()
    assert status[-1:] == ["Online"], "no server of the directory answers; users who logged in before are still known"


def test_subordinate_ids_are_of_no_person(cluster: Cluster, node: Node, host: Host) -> None:
    """useradd assigns numbers from 100000 on to users, who can act under any of these in their user namespaces."""
    persons = [(user.uid, user.uid, user.name) for user in cluster.users.values()]
    gids = {name: account.entry.gid for name, account in cluster.accounts.items()}
    persons += [(gid, gid, name) for name, gid in gids.items() if gid]
    # smaller numbers are below all that Debian assigns
    persons = [person for person in persons if person[0] >= SYSTEMD_UIDS.stop]
    if cluster.directory:
        ids = cluster.directory.ids
        persons.append((ids.first, ids.last, f"the directory ({ids})"))
    if not persons:
        not_applicable()
    lines = [line.split(":") for line in host.run("cat /etc/subuid /etc/subgid").stdout.splitlines()]
    ranges = [
        (field[0], int(field[1]), int(field[2]))
        for field in lines
        if len(field) == 3 and field[1].isdecimal() and field[2].isdecimal()
    ]
    users = sorted(
        {
            f"{user} can act as {whose}"
            for user, first, count in ranges
            for lowest, highest, whose in persons
            if first <= highest and lowest < first + count
        }
    )
    assert not users, f"by numbers in /etc/subuid or /etc/subgid {', '.join(users[:5])}"


def test_members_of_the_directory_can_be_users(cluster: Cluster, node: Node, host: Host) -> None:
    roster = roster_for(cluster)
    if roster is None or not node.has("database"):
        not_applicable()
    state = asked(host, Members, domain=roster.domain, groups=sorted(set(roster.groups.values())))
    assert state, "sssd does not answer"
    wrong = people(state, roster)[1]
    assert not wrong, "no users: " + "; ".join(f"{name!r} ({why})" for name, why in wrong.items())
