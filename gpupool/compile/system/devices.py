"""Device files of a node's GPUs where no driver creates them, and access to them outside of jobs."""

from collections.abc import Iterator, Sequence

from gpupool.cluster.gpu_devices import Device, minors
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

CONF = "/etc/tmpfiles.d/gpupool-gpus.conf"
USER_SLICE = f"{UNITS}/user-.slice.d/gpupool.conf"
#: For root's slice, systemd reads this drop-in instead of the other one of the same name, systemd.unit(5).
ROOT_SLICE = f"{UNITS}/user-0.slice.d/gpupool.conf"
MAJOR = 195  # of the NVIDIA driver, https://www.kernel.org/doc/Documentation/admin-guide/devices.txt


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the file that creates the devices at boot, and drop-ins that deny them to sessions outside of jobs.

    Root's sessions keep access. systemd.resource-control(5) describes the drop-ins of slices.
    """
    if devices := fake_devices(cluster, node):
        yield File(CONF, devices_conf(cluster, devices))
    if fences_sessions(cluster, node):
        yield File(USER_SLICE, fill("user-slice.conf", cluster=cluster))
        yield File(ROOT_SLICE, fill("root-slice.conf", cluster=cluster))


def fake_devices(cluster: Cluster, node: Node) -> dict[str, int]:
    """Return the device files to create, path to minor number, if the real driver does not create them.

    A driver may not create the file of a broken GPU, and slurmd does not start without each file that gres.conf names.
    """
    if cluster.drivers.gpu != "fake":
        return {f"/dev/nvidia{minor}": minor for minor in node.minors_out_of_service}
    return stand_in_files(node.all_devices)


def stand_in_files(devices: Sequence[Device]) -> dict[str, int]:
    """Return the files that replace those of GPUs, path to minor number; all have NVIDIA's major number."""
    own = minors(devices)
    files = {f"/dev/nvidia{minor}": minor for minor in own}
    others = dict.fromkeys(file for device in devices for file in device.files if file not in files)
    return files | {file: first + n for first in [own[-1] + 1 if own else 0] for n, file in enumerate(others)}


def devices_conf(cluster: Cluster, devices: dict[str, int]) -> str:
    """Return the drop-in of tmpfiles.d that creates the device files at every boot."""
    return fill("gpus.conf", cluster=cluster, major=MAJOR, devices=tuple(devices.items()))


def fences_sessions(cluster: Cluster, node: Node) -> bool:
    """Return whether users' sessions outside of jobs have no access to the node's GPUs."""
    return node.has("compute") and node.gpu_count > 0 and cluster.gpu.constrain_devices
