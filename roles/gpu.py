"""GPUs of a node: their device files, which must be there before slurmd looks for them."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import devices, files
from gpupool.system.devices import MAJOR, fake_devices


def apply(cluster: Cluster, node: Node) -> None:
    """On a testbed there is no driver to make them."""
    wanted = fake_devices(cluster, node)
    if wanted:
        own = files_of(cluster, node, "gpu")
        files.put(name="GPU device list", files=own)
        devices.present(
            name="GPU devices",
            devices={path: (MAJOR, minor) for path, minor in wanted.items()},
            conf=own[0].path,
        )
