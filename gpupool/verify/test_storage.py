"""Mounts and links of the cluster's storage."""

from testinfra.host import Host

from gpupool.cluster.model import Cluster, Node
from gpupool.system.storage import home_of_homes, links_for, mounts_for


def test_storage_is_mounted(cluster: Cluster, node: Node, host: Host) -> None:
    lines = host.check_output("findmnt -rn -o TARGET").splitlines()
    missing = [mount.path for mount in mounts_for(cluster, node) if mount.path not in lines]
    assert not missing, f"not mounted: {', '.join(missing)}"


def test_df_names_server_and_export(cluster: Cluster, node: Node, host: Host) -> None:
    wanted = {it.at: it.source for it in cluster.mounts if node.name in it.nodes and it.size and it.at.count("/") > 1}
    if not wanted:
        return
    lines = [line.split() for line in host.check_output("findmnt -rn -o TARGET,SOURCE").splitlines()]
    found = {line[0]: line[1] for line in lines if len(line) == 2}
    wrong = [f"{path} is {found.get(path)}" for path, source in wanted.items() if found.get(path) != source]
    assert not wrong, f"another source: {', '.join(wrong)}"


def test_links_point_where_they_should(cluster: Cluster, node: Node, host: Host) -> None:
    links = links_for(cluster, node)
    if not links:
        return
    paths = " ".join(link.path for link in links)
    said = host.run(f"for path in {paths}; do readlink $path || echo -; done").stdout.splitlines()
    wrong = [link.path for link, target in zip(links, said, strict=True) if target != link.target]
    assert not wrong, f"missing, or pointing elsewhere: {', '.join(wrong)}"


def test_homes_are_their_owners(cluster: Cluster, node: Node, host: Host) -> None:
    shared = home_of_homes(cluster)
    if shared is None or node.name not in shared.nodes or not cluster.users:
        return
    if not cluster.nodes[shared.server].managed:
        return  # homes there are somebody else's to make
    homes = {user.home: user.name for user in cluster.users.values()}
    said = host.run(f"stat -c '%n %U' {' '.join(homes)}").stdout.splitlines()
    owners = dict(line.split(" ", 1) for line in said)
    wrong = [home for home, name in homes.items() if owners.get(home) != name]
    assert not wrong, f"missing, or somebody else's: {', '.join(wrong)}"
