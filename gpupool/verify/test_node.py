"""Checks for every node."""

import time
from datetime import date
from typing import NamedTuple

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import layered_for
from gpupool.compile.system.access import admins
from gpupool.compile.system.firewall import TABLE
from gpupool.compile.system.packages import packages_for, versions_for
from gpupool.compile.system.people import groups_for
from gpupool.facts.departed import Departed
from gpupool.facts.host_keys import KNOWN, known_in
from gpupool.facts.masters import Masters
from gpupool.facts.overrides import LaterFiles
from gpupool.operations.masters import problems
from gpupool.operations.overrides import sentence
from gpupool.verify.asked import asked
from gpupool.verify.looks import NodeLook

pytestmark = pytest.mark.manages("base")


def test_node_knows_its_own_name(node: Node, host: Host) -> None:
    # a name that is in no file of hosts has no long form
    name = host.check_output("hostname -f || hostname").splitlines()[-1]
    assert name == node.fqdn, f"the node's name is {name}, not {node.fqdn} (`gpupool apply` sets it)"


def test_node_resolves_the_names_of_all_others(cluster: Cluster, node: Node, host: Host) -> None:
    wanted = {other.fqdn: other.address for other in cluster.nodes.values() if other.address}
    wanted |= {names[0]: address for other in cluster.nodes.values() for address, names in other.further_names.items()}
    # its exit status is that of the last name
    lines = host.run(f"getent hosts {' '.join(wanted)}").stdout
    addresses = {name: line.split()[0] for line in lines.splitlines() for name in line.split()[1:]}
    wrong = [name for name, address in wanted.items() if addresses.get(name) != address]
    assert not wrong, f"not found at the inventory's address: {', '.join(wrong)} (`gpupool apply` writes /etc/hosts)"


@pytest.mark.manages("ssh")
def test_host_keys_of_all_nodes_are_known(cluster: Cluster, node: Node, host: Host) -> None:
    wanted = [other.name for other in cluster.nodes.values() if other.managed and other.address]
    known = known_in(host.run(f"cat {KNOWN}").stdout.splitlines())
    missing = [name for name in wanted if name not in known]
    assert not missing, f"no host key in {KNOWN} of: {', '.join(missing)}"


def test_no_other_file_overrides_settings_of_the_inventory(cluster: Cluster, node: Node, host: Host) -> None:
    later_files = asked(host, LaterFiles, paths=layered_for(cluster, node))
    assert later_files is not None, "the files of units and daemons cannot be read"
    programs = asked(host, Masters, table=TABLE)
    assert programs is not None, "the other programs that configure this node cannot be read"
    sentences = [*map(sentence, later_files), *problems(programs)]
    assert not sentences, "; ".join(sentences)


def test_clock_is_correct(node: Node, seen: NodeLook) -> None:
    assert not seen.clock, seen.clock


def test_packages_are_installed(cluster: Cluster, node: Node, host: Host) -> None:
    wanted = packages_for(cluster, node)
    listed = host.check_output("dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\\n'")
    # the first letter is the wanted state (i install, h hold), the second the actual one
    installed = {line.split()[1]: line.split()[2] for line in listed.splitlines() if line[1:2] == "i"}
    missing = sorted(set(wanted) - set(installed))
    assert not missing, f"missing: {', '.join(missing)}"
    versions = versions_for(cluster, node)
    wrong = [
        f"{name} is at {installed[name]}, not {version}"
        for name, version in versions.items()
        if installed[name] != version
    ]
    assert not wrong, ", ".join(wrong)


@pytest.mark.manages("people")
def test_users_have_the_uids_of_the_inventory(cluster: Cluster, node: Node, host: Host) -> None:
    uids = {entry.name: entry.uid for entry in _passwd(host)}
    missing = [user.name for user in cluster.users.values() if user.name not in uids]
    other = [
        f"{user.name} has uid {uids[user.name]}, not {user.uid}"
        for user in cluster.users.values()
        if uids.get(user.name, user.uid) != user.uid
    ]
    wrong = [f"missing: {', '.join(missing)} (`gpupool apply` creates them)"] if missing else []
    assert not missing + other, "; ".join([*wrong, *other])


@pytest.mark.manages("people")
def test_removed_users_cannot_log_in(cluster: Cluster, node: Node, host: Host) -> None:
    """apply deletes no user: a user outside the inventory whose primary group is an account's could still log in."""
    ours = set(groups_for(cluster).values())
    left = [entry.name for entry in _passwd(host) if entry.gid in ours and entry.name not in cluster.users]
    shadow = [line.split(":") for line in host.check_output("getent shadow").splitlines()] if left else []
    today = time.time() // 86400  # shadow(5) counts days
    expired = {entry[0] for entry in shadow if entry[7] and int(entry[7]) <= today}
    open_ = sorted(set(left) - expired)
    assert not open_, (
        f"not in the inventory, and may log in: {', '.join(open_)} (to end that: usermod --expiredate 1 {open_[0]})"
    )


@pytest.mark.manages("people")
def test_removed_users_have_no_session(cluster: Cluster, node: Node, host: Host) -> None:
    """apply closes the accounts that gpupool had managed, and ends their processes outside of jobs."""
    departed = asked(host, Departed, users=[*cluster.users, *admins(cluster)], groups=[])
    assert departed is not None, "the node does not print its record of users"
    today = time.time() // 86400
    left = departed.left
    open_ = [name for name, state in left.items() if state.end is None or state.end > today]
    running = [f"{name} ({state.processes})" for name, state in left.items() if state.processes]
    assert not open_, f"not in the inventory, and may log in: {', '.join(open_)} (`gpupool apply` ends that)"
    assert not running, f"processes outside of jobs of removed users: {', '.join(running)} (`gpupool apply` ends them)"


@pytest.mark.manages("people")
def test_users_cannot_log_in_after_their_access_has_ended(cluster: Cluster, node: Node, host: Host) -> None:
    ended = [user.name for user in cluster.users.values() if user.ended_on(date.today())]
    lines = host.check_output("getent shadow").splitlines() if ended else []
    ends = {entry[0]: entry[7] for entry in (line.split(":") for line in lines)}
    open_ = [name for name in ended if not ends.get(name) or int(ends[name]) > time.time() // 86400]
    assert not open_, f"their `until` is over, and they may log in: {', '.join(open_)} (`gpupool apply` ends that)"


class _User(NamedTuple):
    name: str
    uid: int
    gid: int


def _passwd(host: Host) -> list[_User]:
    fields = [line.split(":") for line in host.check_output("getent passwd").splitlines()]
    return [_User(entry[0], int(entry[2]), int(entry[3])) for entry in fields]
