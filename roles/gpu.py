"""GPUs of a node: their device files, which must exist before slurmd starts, and the right to open them."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.devices import CONF, MAJOR, ROOT_SLICE, USER_SLICE, fake_devices, fences_sessions
from gpupool.operations import devices, files, service
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes with GPUs."""
    return bool(node.gpus)


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Create the device files on a testbed, which has no driver, and close them to sessions outside of jobs."""
    own = files_of(cluster, node, "gpu")
    if own:
        files.put(name="GPU files", files=own)
    wanted = fake_devices(cluster, node)
    if wanted:
        devices.present(
            name="GPU devices",
            devices={path: (MAJOR, minor) for path, minor in wanted.items()},
            conf=CONF,
        )
    if fences_sessions(cluster, node):
        # systemd reads the file when a user's first session begins, so open sessions are not changed
        service.running(
            name="Sessions without GPUs",
            unit="systemd-logind",
            enabled=None,
            reload_if=[USER_SLICE, ROOT_SLICE],
            reload_command=["systemctl", "daemon-reload"],
        )
