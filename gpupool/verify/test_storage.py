"""Mounts, links, spaces and homes of the cluster's storage; each access to a mount has a time limit of seconds."""

import shlex

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system.spaces import folders_for, homes_for, members_for, tops_for
from gpupool.compile.system.storage import links_for, mount_point_of, theirs_for, used_for
from gpupool.facts.mounts import mount_of
from gpupool.verify.looks import NodeLook
from gpupool.verify.scope import not_checked, only_if

pytestmark = pytest.mark.manages("storage")

_SECONDS = 5
_AT_ONCE = 200  # paths in one command


def test_storage_answers(cluster: Cluster, node: Node, seen: NodeLook) -> None:
    only_if(seen.mounts)
    places = {mount_point_of(cluster, node, mount): mount for mount in cluster.mounts}
    servers = {
        place: "mounted by the site" if mount.by_site else f"server {mount.server}" for place, mount in places.items()
    }
    faults = [f"{mount.item}: {mount.fault} ({servers[mount.item]})" for mount in seen.mounts if mount.fault]
    assert not faults, f"down: {'; '.join(faults)}"


def test_storage_is_mounted(cluster: Cluster, node: Node, host: Host) -> None:
    # from the kernel's list: a tool that accesses the mounts would wait for a server that does not answer
    mounts = [mount_of(line) for line in host.check_output("cat /proc/self/mountinfo").splitlines()]
    mounted = {mount.path: mount.fstype for mount in mounts if mount.fstype != "autofs"}
    wanted = used_for(cluster, node)
    only_if(wanted)
    missing = [mount.path for mount in wanted if mount.path not in mounted]
    assert not missing, f"not mounted: {', '.join(missing)} (`gpupool apply` mounts them)"
    kinds = {mount.path: mount.fstype for mount in theirs_for(cluster, node) if mount.fstype}
    wrong = [f"{path} is {mounted[path]}, not {kind}" for path, kind in kinds.items() if mounted[path] != kind]
    assert not wrong, f"another file system: {', '.join(wrong)}"


def test_df_names_server_and_export(cluster: Cluster, node: Node, host: Host, seen: NodeLook) -> None:
    ours = [mount for mount in cluster.mounts if node.name in mount.nodes and not mount.by_site]
    only_if(ours)
    _ensure_mounted(node, seen)
    wanted = {mount.at: mount.source for mount in ours if mount.entry.size and mount.at.count("/") > 1}
    mounts = [mount_of(line) for line in host.check_output("cat /proc/self/mountinfo").splitlines()]
    sources = {mount.path: mount.source for mount in mounts if mount.fstype != "autofs"}
    wrong = [f"{path} is {sources.get(path)}" for path, source in wanted.items() if sources.get(path) != source]
    assert not wrong, f"another source: {', '.join(wrong)}"


def test_links_have_their_targets(cluster: Cluster, node: Node, host: Host) -> None:
    links = links_for(cluster, node)
    only_if(links)
    paths = shlex.join(links)
    targets = host.run(f"for path in {paths}; do readlink $path || echo -; done").stdout.splitlines()
    wrong = [path for (path, target), now in zip(links.items(), targets, strict=True) if now != target]
    assert not wrong, f"missing, or pointing elsewhere: {', '.join(wrong)}"


@pytest.mark.manages("spaces")
def test_spaces_have_their_owner_and_mode(cluster: Cluster, node: Node, host: Host, seen: NodeLook) -> None:
    tops = tops_for(cluster, node)
    only_if(tops)
    _ensure_mounted(node, seen)
    rights = _stat(host, "%u %g %a", [top.path for top in tops])
    wrong = [top.path for top in tops if rights.get(top.path) != f"0 {top.gid} {int(top.mode, 8):o}"]
    assert not wrong, f"missing, or with other rights: {', '.join(wrong)}"


@pytest.mark.manages("spaces")
def test_homes_belong_to_their_users(cluster: Cluster, node: Node, host: Host, seen: NodeLook) -> None:
    wanted = {folder.path: str(folder.uid) for folder in (*homes_for(cluster, node), *folders_for(cluster, node))}
    shared = cluster.home_export
    # on a server that gpupool does not manage, others create the homes
    maker = cluster.nodes.get(shared.server) if shared else None
    if shared and node.name in shared.nodes and maker and maker.managed:
        wanted |= {user.home: str(user.uid) for user in cluster.users.values()}
    only_if(wanted)
    _ensure_mounted(node, seen)
    current = _stat(host, "%u", list(wanted))
    wrong = [path for path, uid in wanted.items() if current.get(path) != uid]
    assert not wrong, f"missing, or with another owner: {', '.join(wrong)}"
    # members create their directories in spaces themselves; another user may have taken the name
    places = members_for(cluster, node)
    current = _stat(host, "%u %A", list(places))
    taken = [path for path, uid in places.items() if path in current and not current[path].startswith(f"{uid} d")]
    assert not taken, f"not owned by the user it is named after: {', '.join(taken)}"


def _ensure_mounted(node: Node, seen: NodeLook) -> None:
    """End the current check as not made if a mount is missing, which another check reports."""
    if missing := [mount.item for mount in seen.mounts if not (mount.mounted or mount.fault)]:
        not_checked(f"{node.name}: {', '.join(missing)} is not mounted")


def _stat(host: Host, form: str, paths: list[str]) -> dict[str, str]:
    """Return stat's output by path; the check fails if a server does not answer."""
    stats: dict[str, str] = {}
    limited = ["timeout", "-s", "KILL", str(_SECONDS), "stat", "-c", f"{form}\t%n", "--"]
    for first in range(0, len(paths), _AT_ONCE):
        # ssh alone does not show that timeout killed the command
        lines = host.run(f"{shlex.join([*limited, *paths[first : first + _AT_ONCE]])} || [ $? -lt 124 ] || echo late")
        output = lines.stdout.splitlines()
        assert output[-1:] != ["late"], f"no answer in {_SECONDS} s"
        stats |= {path: value for value, _, path in (line.partition("\t") for line in output)}
    return stats
