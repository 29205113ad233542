"""Debian packages that a node's roles need; one list a node, so that one apt-get installs it."""

from gpupool.cluster.model import Cluster, Node
from gpupool.cluster.slurm_versions import has_sackd
from gpupool.compile.slurm import arbiter
from gpupool.compile.system import manual, tools
from gpupool.compile.system.driver import has_check
from gpupool.compile.system.exports import exports_for
from gpupool.compile.system.spaces import tops_for
from gpupool.compile.system.storage import mounts_for
from gpupool.compile.system.usage import jobs_for
from gpupool.compile.system.zfs import pools_for

_BASE = ("ca-certificates", "openssh-server", "systemd-timesyncd", "tzdata")


def packages_for(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return the names of a node's packages, sorted: what its roles need and what the inventory adds."""
    wanted = set(_BASE)
    if node.runs_slurm:
        wanted |= {"munge", "slurm-client"}
    if node.has("database"):
        wanted |= {"mariadb-server", "slurmdbd"}
    if node.has("controller", "backup-controller"):
        wanted.add("slurmctld")
        if arbiter.settings(cluster):
            wanted.add("python3")
    if node.has("compute"):
        wanted.add("slurmd")
    if node.has("head") and has_sackd(cluster.slurm.version):
        wanted.add("sackd")
    if has_check(cluster, node):
        wanted |= {"pciutils", "python3"}
    if any(it.fstype in ("nfs", "nfs4") for it in mounts_for(cluster, node)):
        wanted.add("nfs-common")
    if any(top.groups for top in tops_for(cluster, node)):
        wanted.add("acl")
    if exports_for(cluster, node):
        wanted.add("nfs-kernel-server")
    if pools_for(cluster, node):
        wanted.add("zfsutils-linux")
        if not cluster.drivers.testbed:
            # a testbed's kernel brings the module along; Debian's has it built, for which it needs the headers
            wanted |= {"linux-headers-amd64", "zfs-dkms"}
    own = [file.path for file in tools.files(cluster, node)]
    if jobs_for(cluster, node).intervals or tools.SETTINGS in own:
        wanted.add("python3")
    if node.has("head") and any(path.startswith(f"{manual.FOLDER}/") for path in own):
        wanted.add("man-db")
    for role in ("all", *node.roles):
        wanted |= set(cluster.software.packages.get(role, ()))
    return tuple(sorted(wanted))
