"""Docker answers with the inventory's settings."""

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.containers import docker_on
from gpupool.compile.system.docker import GROUP, is_member
from gpupool.verify.scope import not_applicable, only_if

pytestmark = pytest.mark.manages("docker")


def test_docker_runs_with_the_settings_of_the_inventory(cluster: Cluster, node: Node, host: Host) -> None:
    docker = docker_on(cluster, node)
    if docker is None:
        not_applicable()
    done = host.run("timeout 60 docker info --format '{{.LiveRestoreEnabled}} {{.DockerRootDir}}'")
    assert done.rc == 0, done.stderr.strip()
    shown = done.stdout.strip()
    assert shown == f"true {docker.data_root}", f"live-restore and data-root are {shown}, not true {docker.data_root}"


def test_only_members_may_use_docker(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(cluster.software.docker is not None)
    line = host.run(f"getent group {GROUP}").stdout.strip()
    members = set(line.rpartition(":")[2].split(",")) & set(cluster.users)
    wanted = {user.name for user in cluster.users.values() if is_member(cluster, node, user)}
    missing, more = (", ".join(sorted(names)) or "none" for names in (wanted - members, members - wanted))
    assert members == wanted, f"missing: {missing}, too many: {more}"
