"""Device files of a node's GPUs where no driver makes them."""

from gpupool.cluster.model import Cluster, Node
from gpupool.template import fill

CONF = "/etc/tmpfiles.d/gpupool-gpus.conf"
MAJOR = 195  # of the NVIDIA driver, https://www.kernel.org/doc/Documentation/admin-guide/devices.txt


def fake_devices(cluster: Cluster, node: Node) -> dict[str, int]:
    """Return path: minor number of the device files to make; none where the real driver makes them."""
    if cluster.drivers.gpu != "fake":
        return {}
    return {f"/dev/nvidia{minor}": minor for minor in range(node.gpu_count)}


def devices_conf(cluster: Cluster, devices: dict[str, int]) -> str:
    """Return the drop-in of tmpfiles.d that makes them at every boot."""
    return fill("gpus.conf", cluster=cluster, major=MAJOR, devices=devices)


def fences_sessions(cluster: Cluster, node: Node) -> bool:
    """Return whether people's sessions outside of jobs are kept from the node's GPUs, as jobs are from each other's."""
    return node.has("compute") and node.gpu_count > 0 and cluster.gpu.constrain_devices
