"""Cluster to files: everything that a node gets, by role, as plain data."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster, Node
from gpupool.files import File
from gpupool.slurm import arbiter
from gpupool.slurm.conf import slurm_conf
from gpupool.slurm.dbd import mariadb_conf, slurmdbd_conf
from gpupool.slurm.gres import cgroup_conf, gres_conf
from gpupool.slurm.submit import job_submit_lua
from gpupool.system.devices import CONF as DEVICES_CONF
from gpupool.system.devices import devices_conf, fake_devices, fences_sessions
from gpupool.system.exports import exports_file, exports_for, nfs_conf
from gpupool.system.fileserver import timers
from gpupool.system.names import hosts
from gpupool.system.packages import holds_configuration, serves_configuration
from gpupool.system.spaces import variables
from gpupool.system.ssh import sshd_conf
from gpupool.system.tools import tools_for
from gpupool.system.units import FOLDERS_CONF, drop_in, sackd_default, slices, slurmd_default, slurmd_folders
from gpupool.system.usage import files as usage_files


def files_for(cluster: Cluster, node: Node) -> tuple[File, ...]:
    """Return every file of a node, in the order of the roles that put them."""
    return tuple(_files(cluster, node))


def files_of(cluster: Cluster, node: Node, role: str) -> list[File]:
    """Return the files that one role puts on a node."""
    return [file for file in _files(cluster, node) if file.role == role]


def _files(cluster: Cluster, node: Node) -> Iterator[File]:
    yield File("/etc/hostname", f"{node.name}\n", "base")
    yield File("/etc/hosts", hosts(cluster), "base")
    yield File("/etc/ssh/sshd_config.d/gpupool.conf", sshd_conf(cluster, node), "ssh")
    if node.runs_slurm:
        yield drop_in(cluster, "munge", "munge")
    if node.has("database"):
        yield File("/etc/mysql/mariadb.conf.d/90-gpupool.cnf", mariadb_conf(cluster), "database")
        yield File("/etc/slurm/slurmdbd.conf", slurmdbd_conf(cluster), "database", "slurm", "slurm", "0600")
        yield drop_in(cluster, "slurmdbd", "database", after=("mariadb.service", "munge.service"))
    if holds_configuration(cluster, node):
        yield File("/etc/slurm/slurm.conf", slurm_conf(cluster), "slurm")
        yield File("/etc/slurm/gres.conf", gres_conf(cluster), "slurm")
        yield File("/etc/slurm/cgroup.conf", cgroup_conf(cluster), "slurm")
        # Debian's own includes a pattern, of which Slurm complains at every command
        yield File("/etc/slurm/plugstack.conf", "# no SPANK plugins\n", "slurm")
    if node.has("controller", "backup-controller"):
        if plugin := job_submit_lua(cluster):
            yield File("/etc/slurm/job_submit.lua", plugin, "slurm")
        state = (cluster.slurm.state,) if any(it.holds(cluster.slurm.state) for it in cluster.mounts) else ()
        yield drop_in(cluster, "slurmctld", "controller", after=("munge.service",), requires_mounts=state)
        yield from arbiter.files(cluster)
    if node.has("compute"):
        yield File("/etc/default/slurmd", slurmd_default(cluster), "compute")
        yield drop_in(cluster, "slurmd", "compute", after=("munge.service",))
        yield File(FOLDERS_CONF, slurmd_folders(cluster), "compute")
    if devices := fake_devices(cluster, node):
        yield File(DEVICES_CONF, devices_conf(cluster, devices), "gpu")
    if fences_sessions(cluster, node):
        for path, text in slices(cluster).items():
            yield File(path, text, "gpu")
    if node.has("head") and serves_configuration(cluster):
        yield File("/etc/default/sackd", sackd_default(cluster), "head")
        yield drop_in(cluster, "sackd", "head", after=("munge.service",))
    if exports_for(cluster, node):
        yield exports_file(cluster, node)
        yield nfs_conf(cluster, node)
    yield from timers(cluster, node)
    yield from tools_for(cluster, node)
    yield from variables(cluster, node)
    yield from usage_files(cluster, node)
