"""Docker: the settings of dockerd, the removal of old containers, and who may use it."""

import json
from collections.abc import Iterator
from typing import Any

from gpupool.cluster.accounts import User
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.containers import CONTAINER_NETWORK, Docker
from gpupool.compile.containers import docker_on
from gpupool.compile.system.daemons import drop_in
from gpupool.compile.template import fill
from gpupool.distributions.tables import Purpose
from gpupool.unix import UNITS
from gpupool.wanted import File

#: Debian's group of users who may use the daemon.
GROUP = "docker"
SETTINGS = "/etc/docker/daemon.json"
DROP_IN = f"{UNITS}/docker.service.d/gpupool.conf"
SUDO = "/etc/sudoers.d/gpupool-docker"
PURGE = "/usr/local/sbin/gpupool-docker-purge"
PURGE_TIMER = f"{UNITS}/gpupool-docker-purge.timer"
GPUS_DROP_IN = f"{UNITS}/docker.service.d/gpupool-gpus.conf"


def has_toolkit(cluster: Cluster, node: Node) -> bool:
    """Return whether containers on a node can use its GPUs; False if they are fake."""
    docker = docker_on(cluster, node)
    return bool(docker and docker.toolkit and node.nvidia_minors and cluster.drivers.gpu == "nvidia")


def is_member(cluster: Cluster, node: Node, user: User) -> bool:
    """Return whether a user may use Docker on a node."""
    docker = docker_on(cluster, node)
    return docker is not None and (docker.members == "all" or bool({user.name, *user.own_accounts} & {*docker.members}))


def packages(cluster: Cluster, node: Node) -> set[str]:
    """Return the names of the packages that Docker needs on a node."""
    docker = docker_on(cluster, node)
    if docker is None:
        return set()
    purposes: list[Purpose] = ["docker"]
    purposes += ["sudo"] if docker.sudo else []
    purposes += ["gpus in docker"] if has_toolkit(cluster, node) else []
    return node.system.names(*purposes)


def repositories(cluster: Cluster, node: Node) -> Iterator[str]:
    """Yield the repository with NVIDIA's container toolkit, if a node needs it."""
    docker = docker_on(cluster, node)
    if docker and docker.toolkit and has_toolkit(cluster, node):
        yield docker.toolkit


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield all files of Docker; nothing on a node without it."""
    docker = docker_on(cluster, node)
    if docker is None:
        return
    yield File(SETTINGS, json.dumps(settings(cluster, node, docker), indent=1) + "\n")
    yield drop_in(cluster, "docker", requires_mounts=(docker.data_root,))
    if docker.sudo:
        yield File(SUDO, fill("docker-sudoers", group=GROUP), mode="0440")
    if has_toolkit(cluster, node):
        yield File(GPUS_DROP_IN, fill("docker-gpus.service"))
    if docker.purge and (seconds := purged_every(cluster, node)):
        kept = [image.source for image in cluster.software.images if image.runtime == "docker"]
        text = fill("docker-purge", cluster=cluster, purge=docker.purge, kept=kept)
        yield File(PURGE, text, mode="0755")
        yield File(PURGE_TIMER.replace(".timer", ".service"), fill("docker-purge.service", command=PURGE))
        yield File(PURGE_TIMER, fill("docker-purge.timer", seconds=seconds))


def settings(cluster: Cluster, node: Node, docker: Docker) -> dict[str, Any]:
    """Return the content of daemon.json. Containers survive a restart of the daemon, and their logs are limited."""
    toolkit = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}, "features": {"cdi": True}}
    return {
        "data-root": docker.data_root,
        "live-restore": True,
        "log-driver": "local",
        "log-opts": {"max-size": "20m", "max-file": "3"},
        "default-address-pools": [{"base": docker.address_pool, "size": CONTAINER_NETWORK}],
        **(toolkit if has_toolkit(cluster, node) else {}),
    }


def purged_every(cluster: Cluster, node: Node) -> int | None:
    """Return the seconds between two purges; None without a timer."""
    timers = [
        timer for timer in cluster.timers if timer.job == "docker-purge" and node.name in cluster.select(timer.where)
    ]
    return min((timer.every for timer in timers if timer.every), default=None)
