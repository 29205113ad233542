"""Drop-ins of systemd units: Debian's own do not come back after a failure, and start before what they need."""

from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.files import File
from gpupool.slurm.names import SPOOL, servers
from gpupool.template import fill

FOLDERS_CONF = "/etc/tmpfiles.d/gpupool-slurmd.conf"
USER_SLICE = "/etc/systemd/system/user-.slice.d/gpupool.conf"
#: A file of the same name, for one slice: systemd reads it in the place of the other one, systemd.unit(5).
ROOT_SLICE = "/etc/systemd/system/user-0.slice.d/gpupool.conf"


@lru_cache(maxsize=64)
def drop_in(
    cluster: Cluster, unit: str, role: str, after: tuple[str, ...] = (), requires_mounts: tuple[str, ...] = ()
) -> File:
    """Return the drop-in that makes a daemon start again for as long as what it needs is away."""
    text = fill("daemon.service", cluster=cluster, after=after, requires_mounts=requires_mounts)
    return File(f"/etc/systemd/system/{unit}.service.d/gpupool.conf", text, role)


@lru_cache(maxsize=4)
def slurmd_default(cluster: Cluster) -> str:
    """Return /etc/default/slurmd: slurmd asks the controllers for its configuration."""
    options = [f"--conf-server {','.join(servers(cluster))}"]
    if any(cluster.drivers.contained(node.name) for node in cluster.having("compute")):
        # a container is younger than the machine under it, and Slurm looks at the machine's boot
        options.append("-b")
    return fill("default", cluster=cluster, variable="SLURMD_OPTIONS", options=" ".join(options))


@lru_cache(maxsize=4)
def slurmd_folders(cluster: Cluster) -> str:
    """Return the drop-in of tmpfiles.d that removes at boot what a crash has left of jobs."""
    return fill("slurmd-folders.conf", cluster=cluster, spool=SPOOL)


@lru_cache(maxsize=4)
def slices(cluster: Cluster) -> dict[str, str]:
    """Return the drop-ins that keep sessions outside of jobs from a node's GPUs, but root's, path to text.

    systemd.resource-control(5) says what they do.
    """
    return {
        USER_SLICE: fill("user-slice.conf", cluster=cluster),
        ROOT_SLICE: fill("root-slice.conf", cluster=cluster),
    }


@lru_cache(maxsize=4)
def sackd_default(cluster: Cluster) -> str:
    """Return /etc/default/sackd, as slurmd's."""
    return fill(
        "default", cluster=cluster, variable="SACKD_OPTIONS", options=f"--conf-server {','.join(servers(cluster))}"
    )
