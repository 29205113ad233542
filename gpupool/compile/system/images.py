"""Container images that nodes fetch: a program, its list, and a timer that starts it."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.containers import Image
from gpupool.compile.containers import docker_on, singularity_on
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

PROGRAM = "/usr/local/sbin/gpupool-images"
LIST = "/etc/gpupool/images.conf"
SERVICE, TIMER = f"{UNITS}/gpupool-images.service", f"{UNITS}/gpupool-images.timer"


def images_for(cluster: Cluster, node: Node) -> list[Image]:
    """Return the images that a node fetches; for a file on an export, one node fetches it for all."""
    return [image for image in cluster.software.images if node.name in _fetchers(cluster, image)]


def _fetchers(cluster: Cluster, image: Image) -> list[str]:
    runtime = docker_on if image.runtime == "docker" else singularity_on
    nodes = [node for node in cluster.nodes.values() if node.managed and runtime(cluster, node)]
    if image.where:
        nodes = [node for node in nodes if node.name in cluster.select(image.where)]
    mounts = [mount for mount in cluster.mounts if image.at and mount.holds(image.at)]
    if not mounts:
        return [node.name for node in nodes]
    mount = max(mounts, key=lambda mount: len(mount.at))
    return [node.name for node in nodes if node.name in mount.clients][:1]


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the program, its list, and its service and timer; nothing on a node that fetches no image."""
    images = images_for(cluster, node)
    if not images:
        return
    yield File(PROGRAM, fill("images", images=LIST), mode="0755")
    yield File(LIST, fill("images.conf", images=images))
    yield File(SERVICE, fill("images.service", program=PROGRAM))
    yield File(TIMER, fill("images.timer"))
