"""Docker, on nodes where users run containers."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.containers import docker_on
from gpupool.compile.system.docker import DROP_IN, GPUS_DROP_IN, PURGE_TIMER, SETTINGS
from gpupool.compile.system.packages import docker_for
from gpupool.operations import docker, files, packages, service
from gpupool.roles import apart, where

_READ = [SETTINGS, DROP_IN, GPUS_DROP_IN]


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes for which the inventory has Docker."""
    return docker_on(cluster, node) is not None


@apart
@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install Docker, start its daemon with its settings, and the timer that removes old containers."""
    if missing := docker_for(cluster, node):
        packages.installed(name="Docker packages", packages=missing)
    own = files_of(cluster, node, "docker")
    paths = [file.path for file in own]
    files.put(name="Docker", files=own)
    docker.running(name="Docker daemon", restart_if=_READ)
    if PURGE_TIMER in paths:
        service.timer(name="Docker purge timer", path=PURGE_TIMER)


@apart
@where(applies)
def check_daemon(cluster: Cluster, node: Node) -> None:
    """Fail if the daemon needs a restart but containers run; late, to delay no other step."""
    docker.up_to_date(name="Docker is up to date", restart_if=_READ)
