"""Docker, on nodes where users run containers."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.containers import docker_on
from gpupool.compile.system.docker import DROP_IN, GPUS_DROP_IN, PURGE_TIMER, SETTINGS
from gpupool.operations import docker, files, service
from gpupool.roles import where

_READ = [SETTINGS, DROP_IN, GPUS_DROP_IN]


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes for which the inventory has Docker."""
    return docker_on(cluster, node) is not None


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Start the daemon with its settings, and the timer that removes old containers."""
    own = files_of(cluster, node, "docker")
    paths = [file.path for file in own]
    files.put(name="Docker", files=own)
    docker.running(name="Docker daemon", restart_if=_READ)
    if PURGE_TIMER in paths:
        service.timer(name="Docker purge timer", path=PURGE_TIMER)


@where(applies)
def check_daemon(cluster: Cluster, node: Node) -> None:
    """Fail if the daemon needs a restart but containers run; late, to delay no other step."""
    docker.up_to_date(name="Docker is up to date", restart_if=_READ)
