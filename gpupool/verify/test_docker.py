"""Docker answers with the inventory's settings."""

from testinfra.host import Host

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.containers import docker_on
from gpupool.compile.system.docker import GROUP, PURGE_TIMER, is_member, purged_every


def test_docker_runs_with_the_settings_of_the_inventory(cluster: Cluster, node: Node, host: Host) -> None:
    docker = docker_on(cluster, node)
    if docker is None:
        return
    done = host.run("timeout 60 docker info --format '{{.LiveRestoreEnabled}} {{.DockerRootDir}}'")
    assert done.rc == 0, done.stderr.strip()
    assert done.stdout.strip() == f"true {docker.data_root}"


def test_only_members_may_use_docker(cluster: Cluster, node: Node, host: Host) -> None:
    if cluster.software.docker is None:
        return
    line = host.run(f"getent group {GROUP}").stdout.strip()
    members = set(line.rpartition(":")[2].split(",")) & set(cluster.users)
    wanted = {user.name for user in cluster.users.values() if is_member(cluster, node, user)}
    assert members == wanted, f"missing: {sorted(wanted - members)}, too many: {sorted(members - wanted)}"


def test_old_containers_are_removed_by_a_timer(cluster: Cluster, node: Node, host: Host) -> None:
    docker = docker_on(cluster, node)
    if docker and docker.purge and purged_every(cluster, node):
        timer = PURGE_TIMER.rpartition("/")[2]
        assert host.run(f"systemctl is-active {timer}").stdout.strip() == "active", f"{timer} is not active"
