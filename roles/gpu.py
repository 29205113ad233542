"""GPUs of a node: their device files, which must be there before slurmd looks for them, and who may open them."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.devices import CONF, MAJOR, ROOT_SLICE, USER_SLICE, fake_devices, fences_sessions
from gpupool.operations import devices, files, service
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes with GPUs."""
    return bool(node.gpus)


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """On a testbed there is no driver to make the device files."""
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
        # sessions that are open keep what they have until they end: it is read when a user's first one begins
        service.running(
            name="Sessions without GPUs",
            unit="systemd-logind",
            enabled=None,
            reload_if=[USER_SLICE, ROOT_SLICE],
            reload_command=["systemctl", "daemon-reload"],
        )
