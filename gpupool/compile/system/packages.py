"""Debian packages that a node's roles need: one list per node, so that one apt-get installs it.

Users' containers have their own: a vendor's source that is dead must not keep Slurm's packages off a node.
"""

from collections.abc import Iterator

from gpupool.cluster import logins
from gpupool.cluster.model import Cluster, Node
from gpupool.compile.slurm import arbiter, elastic
from gpupool.compile.system import (
    backup,
    conda,
    directory,
    docker,
    manual,
    modules,
    reaper,
    singularity,
    tools,
    web,
)
from gpupool.compile.system.driver import has_check
from gpupool.compile.system.exports import exports_for
from gpupool.compile.system.spaces import tops_for
from gpupool.compile.system.storage import mounts_for
from gpupool.compile.system.usage import jobs_for
from gpupool.compile.system.zfs import pools_for
from gpupool.slurm.releases import has

_BASE = ("ca-certificates", "nftables", "openssh-server", "systemd-timesyncd", "tzdata")


def packages_for(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return the names of all packages of a node, sorted: what its roles need and what the inventory adds."""
    return tuple(sorted({*base_for(cluster, node), *docker_for(cluster, node), *singularity_for(cluster, node)}))


def docker_for(cluster: Cluster, node: Node) -> list[str]:
    """Return the names of the packages that the role docker installs, sorted."""
    return sorted(docker.packages(cluster, node).difference(base_for(cluster, node)))


def singularity_for(cluster: Cluster, node: Node) -> list[str]:
    """Return the names of the packages that the role singularity installs from repositories, sorted."""
    return sorted(singularity.packages(cluster, node).difference(base_for(cluster, node)))


def base_for(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return the names of the packages that are installed before all other roles, sorted."""
    wanted = set(_BASE)
    if node.runs_slurm:
        wanted |= {"munge", "slurm-client"}
    if node.has("database"):
        wanted |= {"mariadb-server", "slurmdbd"}
    if node.has("controller", "backup-controller"):
        wanted.add("slurmctld")
        if arbiter.settings(cluster):
            wanted.add("python3")
        if elastic.sleepers(cluster):
            wanted |= {"python3", "python3-libcloud"}
    if node.has("compute"):
        wanted |= {"python3", "slurmd"}
    if logins.entry(cluster, node) == "job":
        wanted.add("libpam-slurm-adopt")
    if node.has("head") and has(cluster.slurm.version, "sackd"):
        wanted.add("sackd")
    if has_check(cluster, node):
        wanted |= {"pciutils", "python3"}
    if any(mount.fstype in ("nfs", "nfs4") for mount in mounts_for(cluster, node)):
        wanted.add("nfs-common")
    if any(top.groups for top in tops_for(cluster, node)):
        wanted.add("acl")
    if exports_for(cluster, node):
        wanted.add("nfs-kernel-server")
    if pools_for(cluster, node):
        wanted.add("zfsutils-linux")
        if not cluster.drivers.testbed:
            # A testbed's kernel has the module; Debian's kernel needs it built, and for that the headers.
            wanted |= {"linux-headers-amd64", "zfs-dkms"}
    if cluster.policies.head_nodes and node.has("head"):
        wanted.add("libpam-systemd")  # without it, sessions are not in their user's slice
    wanted |= directory.packages(cluster)
    own = [file.path for file in tools.files(cluster, node)]
    if (
        jobs_for(cluster, node).intervals
        or backup.kinds(cluster, node)
        or tools.SETTINGS in own
        or reaper.kinds(cluster, node)
    ):
        wanted.add("python3")
    if node.has("head") and any(path.startswith(f"{manual.FOLDER}/") for path in own):
        wanted.add("man-db")
    if conda.installer_for(cluster, node):
        wanted.add("curl")
    if modules.modules_for(cluster, node) is not None:
        wanted.add("lmod")
    if web.serves(cluster, node):
        wanted.add("nginx")
    wanted |= {package.partition("=")[0] for package in _of_roles(cluster, node)}
    return tuple(sorted(wanted))


def versions_for(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return the versions that the inventory sets for packages of a node."""
    pairs = (package.partition("=") for package in _of_roles(cluster, node))
    return {name: version for name, pinned, version in sorted(pairs) if pinned}


def _of_roles(cluster: Cluster, node: Node) -> Iterator[str]:
    for role in ("all", *node.roles):
        yield from cluster.software.packages.get(role, ())
