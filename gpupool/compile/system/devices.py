"""Device files of a node's GPUs where no driver makes them, and who may open them outside of jobs."""

from collections.abc import Iterator, Sequence

from gpupool.cluster.gpu_devices import Device, minors
from gpupool.cluster.model import Cluster, Node
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

CONF = "/etc/tmpfiles.d/gpupool-gpus.conf"
USER_SLICE = f"{UNITS}/user-.slice.d/gpupool.conf"
#: A file of the same name, for one slice: systemd reads it in the place of the other one, systemd.unit(5).
ROOT_SLICE = f"{UNITS}/user-0.slice.d/gpupool.conf"
MAJOR = 195  # of the NVIDIA driver, https://www.kernel.org/doc/Documentation/admin-guide/devices.txt


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield what makes the device files at boot, and what keeps sessions outside of jobs, but root's, from them.

    systemd.resource-control(5) says what the drop-ins of slices do.
    """
    if devices := fake_devices(cluster, node):
        yield File(CONF, devices_conf(cluster, devices))
    if fences_sessions(cluster, node):
        yield File(USER_SLICE, fill("user-slice.conf", cluster=cluster))
        yield File(ROOT_SLICE, fill("root-slice.conf", cluster=cluster))


def fake_devices(cluster: Cluster, node: Node) -> dict[str, int]:
    """Return path: minor number of the device files to make; none where the real driver makes them."""
    if cluster.drivers.gpu != "fake":
        return {}
    return stand_in_files(node.devices)


def stand_in_files(devices: Sequence[Device]) -> dict[str, int]:
    """Return path: minor number of the files that stand in for GPUs; all have NVIDIA's major number."""
    own = minors(devices)
    files = {f"/dev/nvidia{minor}": minor for minor in own}
    others = dict.fromkeys(file for device in devices for file in device.files if file not in files)
    return files | {file: first + n for first in [own[-1] + 1 if own else 0] for n, file in enumerate(others)}


def devices_conf(cluster: Cluster, devices: dict[str, int]) -> str:
    """Return the drop-in of tmpfiles.d that makes them at every boot."""
    return fill("gpus.conf", cluster=cluster, major=MAJOR, devices=tuple(devices.items()))


def fences_sessions(cluster: Cluster, node: Node) -> bool:
    """Return whether people's sessions outside of jobs are kept from the node's GPUs, as jobs are from each other's."""
    return node.has("compute") and node.gpu_count > 0 and cluster.gpu.constrain_devices
