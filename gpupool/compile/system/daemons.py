"""Slurm's daemons and those they need: their settings, and drop-ins for their systemd units.

Debian's units do not restart after a failure, and start before the units that they need.
"""

from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.dbd import mariadb_conf, slurmdbd_conf
from gpupool.compile.slurm.names import servers
from gpupool.compile.template import fill
from gpupool.slurm.releases import has
from gpupool.unix import UNITS
from gpupool.wanted import File

MARIADB_CONF = "/etc/mysql/mariadb.conf.d/90-gpupool.cnf"


def munge(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the drop-in of munged, on every node of Slurm."""
    if node.runs_slurm:
        yield drop_in(cluster, "munge")


def database(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the settings of MariaDB and slurmdbd, and slurmdbd's drop-in."""
    if node.has("database"):
        yield File(MARIADB_CONF, mariadb_conf(cluster))
        yield File(cluster.slurm.file("slurmdbd.conf"), slurmdbd_conf(cluster), "slurm", "slurm", "0600")
        yield drop_in(cluster, "slurmdbd", after=("mariadb.service", "munge.service"))


def controller(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the drop-in of slurmctld, which waits for its state if that is on a mount."""
    if node.has("controller", "backup-controller"):
        state = (cluster.slurm.state,) if any(mount.holds(cluster.slurm.state) for mount in cluster.mounts) else ()
        yield drop_in(cluster, "slurmctld", after=before_slurm(cluster), requires_mounts=state)


def head(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield sackd's settings and drop-in, if this Slurm has it."""
    if node.has("head") and has(cluster.slurm.version, "sackd"):
        yield File("/etc/default/sackd", sackd_default(cluster))
        yield drop_in(cluster, "sackd", after=("munge.service",))


def before_slurm(cluster: Cluster) -> tuple[str, ...]:
    """Return the units after which a daemon of Slurm starts."""
    # An association that slurmctld loads while its user has no uid stays unusable.
    return ("munge.service", *(("sssd.service",) if cluster.directory else ()))


@lru_cache(maxsize=64)
def drop_in(
    cluster: Cluster,
    unit: str,
    after: tuple[str, ...] = (),
    requires_mounts: tuple[str, ...] = (),
    failed_scope: str = "",
    open_files: int | None = None,
    *,
    without_condition: bool = False,
) -> File:
    """Return the drop-in that restarts a daemon until everything that it needs is available.

    `failed_scope` is a name pattern of the scope that the daemon creates. The daemon cannot create a scope while an
    earlier one is in state failed. `without_condition`: the daemon also starts where its configuration file is absent,
    because it gets its configuration from slurmctld.
    """
    text = fill(
        "daemon.service",
        cluster=cluster,
        after=after,
        requires_mounts=requires_mounts,
        failed_scope=failed_scope,
        open_files=open_files,
        without_condition=without_condition,
    )
    return File(f"{UNITS}/{unit}.service.d/gpupool.conf", text)


@lru_cache(maxsize=4)
def sackd_default(cluster: Cluster) -> str:
    """Return /etc/default/sackd, in the form of slurmd's."""
    return fill(
        "default",
        cluster=cluster,
        at_start=[],
        variable="SACKD_OPTIONS",
        options=f"--conf-server {','.join(servers(cluster))}",
    )
