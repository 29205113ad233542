"""Packages that a node's roles need: one list per node, so that one apt-get installs it.

Users' containers have their own: a vendor's source that is dead must not keep Slurm's packages off a node.
"""

from collections.abc import Iterator, Mapping

from gpupool.cluster import logins
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm import arbiter, elastic
from gpupool.compile.system import (
    backup,
    clock,
    conda,
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
from gpupool.distributions import slurm
from gpupool.distributions.tables import Purpose
from gpupool.slurm.releases import has

#: The keys that keep packages of Slurm of another source on a node.
_KEEPS: Mapping[slurm.Source, str] = {
    "distribution": "slurm.packages: schedmd, or managed: false at the node",
    "schedmd": "slurm.packages: distribution, or managed: false at the node",
}


def packages_for(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return the names of all packages of a node, sorted: what its roles need and what the inventory adds."""
    return tuple(sorted({*base_for(cluster, node), *docker_for(cluster, node), *singularity_for(cluster, node)}))


def docker_for(cluster: Cluster, node: Node) -> list[str]:
    """Return the names of the packages that the role docker installs, sorted."""
    wanted = docker.packages(cluster, node) if node.manages("docker") else set()
    return sorted(wanted.difference(base_for(cluster, node)))


def singularity_for(cluster: Cluster, node: Node) -> list[str]:
    """Return the names of the packages that the role singularity installs from repositories, sorted."""
    wanted = singularity.packages(cluster, node) if node.manages("singularity") else set()
    return sorted(wanted.difference(base_for(cluster, node)))


def base_for(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return the names of the packages that the role base installs before all other roles, sorted."""
    if not node.manages("base"):
        return ()
    needed = slurm.names(node.system, cluster.slurm.packages, _purposes(cluster, node))
    return tuple(sorted({*needed, clock.clock(cluster, node), *_added(cluster, node)}))


def slurm_for(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return the names of a node's packages of Slurm, each with the release that it must have."""
    purposes = slurm.PURPOSES.intersection(_purposes(cluster, node))
    own = slurm.names(node.system, cluster.slurm.packages, purposes)
    return dict.fromkeys(sorted(own), cluster.slurm.version)


def repositories(cluster: Cluster, node: Node) -> Iterator[str]:
    """Yield the repository with Slurm's packages, if a node needs one."""
    repository = cluster.slurm.repository_of(node.system)
    if repository and node.manages("base") and slurm_for(cluster, node):
        yield repository


def kept_for(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return packages that cannot be beside those of a node, each with the key of the inventory that keeps it."""
    source = cluster.slurm.packages
    return {**clock.others(cluster, node), **dict.fromkeys(slurm.others(node.system, source), _KEEPS.get(source, ""))}


def _purposes(cluster: Cluster, node: Node) -> Iterator[Purpose]:
    """Yield the purposes of a node's packages, in any order; some more than once."""
    yield "base"
    if node.runs_slurm and node.manages("munge", "controller", "database", "compute", "head"):
        yield from ("munge", "slurm commands")
    if node.has("database") and node.manages("database"):
        yield from ("database", "slurmdbd")
    if node.has("controller", "backup-controller") and node.manages("controller"):
        yield from _of_controller(cluster)
    if node.has("compute") and node.manages("compute"):
        yield from ("python", "slurmd")
    if logins.entry(cluster, node) == "job" and node.manages("ssh"):
        yield "logins with a job"
    if node.has("head") and has(cluster.slurm.version, "sackd") and node.manages("head"):
        yield "sackd"
    if has_check(cluster, node) and node.manages("driver"):
        yield from ("devices", "python")
    yield from _for_storage(cluster, node)
    yield from _for_users(cluster, node)
    if conda.installer_for(cluster, node) and node.manages("conda"):
        yield "download"
    if modules.modules_for(cluster, node) is not None and node.manages("modules"):
        yield "modules"
    if web.serves(cluster, node) and node.manages("web"):
        yield "web"


def _of_controller(cluster: Cluster) -> Iterator[Purpose]:
    yield "slurmctld"
    if arbiter.settings(cluster):
        yield "python"
    if elastic.sleepers(cluster):
        yield from ("python", "cloud")


def _for_users(cluster: Cluster, node: Node) -> Iterator[Purpose]:
    if cluster.policies.head_nodes and node.has("head") and node.manages("sessions"):
        yield "sessions"
    if cluster.directory and node.manages("directory"):
        yield "directory"
    own = [file.path for file in tools.files(cluster, node)] if node.manages("tools") else []
    if (
        (node.manages("usage") and jobs_for(cluster, node).intervals)
        or (node.manages("backup") and backup.kinds(cluster, node))
        or tools.SETTINGS in own
        or (node.manages("reaper") and reaper.kinds(cluster, node))
    ):
        yield "python"
    if node.has("head") and any(path.startswith(f"{manual.FOLDER}/") for path in own):
        yield "manual"


def _for_storage(cluster: Cluster, node: Node) -> Iterator[Purpose]:
    if node.manages("storage") and any(mount.fstype in ("nfs", "nfs4") for mount in mounts_for(cluster, node)):
        yield "nfs client"
    if node.manages("spaces") and any(top.groups for top in tops_for(cluster, node)):
        yield "acl"
    if not node.manages("fileserver"):
        return
    if exports_for(cluster, node):
        yield "nfs server"
    if pools_for(cluster, node):
        yield "zfs"
        if not cluster.drivers.testbed:  # a testbed's kernel has the module
            yield from ("zfs module", "kernel headers")


def _added(cluster: Cluster, node: Node) -> set[str]:
    """Return the packages that the inventory adds."""
    return {package.partition("=")[0] for package in _of_roles(cluster, node)}


def versions_for(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return the versions that the inventory sets for packages of a node."""
    pairs = (package.partition("=") for package in _of_roles(cluster, node))
    return {name: version for name, pinned, version in sorted(pairs) if pinned}


def _of_roles(cluster: Cluster, node: Node) -> Iterator[str]:
    for role in ("all", *node.roles):
        yield from cluster.software.packages.get(role, ())
