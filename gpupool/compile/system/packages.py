"""Packages that a node's roles need: one list per node, so that one apt-get installs it.

Users' containers have their own: a vendor's source that is dead must not keep Slurm's packages off a node.
"""

from collections.abc import Iterator

from gpupool.cluster import logins
from gpupool.cluster.model import Cluster, Node
from gpupool.compile.slurm import arbiter, elastic
from gpupool.compile.system import (
    backup,
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
from gpupool.distributions.tables import Purpose
from gpupool.slurm.releases import has


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
    return tuple(sorted({*node.system.names(*_purposes(cluster, node)), *_added(cluster, node)}))


def _purposes(cluster: Cluster, node: Node) -> Iterator[Purpose]:
    """Yield the purposes of a node's packages, in any order; some more than once."""
    yield from ("base", "time")
    if node.runs_slurm:
        yield from ("munge", "slurm commands")
    if node.has("database"):
        yield "slurmdbd"
    if node.has("controller", "backup-controller"):
        yield "slurmctld"
        if arbiter.settings(cluster):
            yield "python"
        if elastic.sleepers(cluster):
            yield from ("python", "cloud")
    if node.has("compute"):
        yield from ("python", "slurmd")
    if logins.entry(cluster, node) == "job":
        yield "logins with a job"
    if node.has("head") and has(cluster.slurm.version, "sackd"):
        yield "sackd"
    if has_check(cluster, node):
        yield from ("devices", "python")
    yield from _for_storage(cluster, node)
    if cluster.policies.head_nodes and node.has("head"):
        yield "sessions"
    if cluster.directory:
        yield "directory"
    own = [file.path for file in tools.files(cluster, node)]
    if (
        jobs_for(cluster, node).intervals
        or backup.kinds(cluster, node)
        or tools.SETTINGS in own
        or reaper.kinds(cluster, node)
    ):
        yield "python"
    if node.has("head") and any(path.startswith(f"{manual.FOLDER}/") for path in own):
        yield "manual"
    if conda.installer_for(cluster, node):
        yield "download"
    if modules.modules_for(cluster, node) is not None:
        yield "modules"
    if web.serves(cluster, node):
        yield "web"


def _for_storage(cluster: Cluster, node: Node) -> Iterator[Purpose]:
    if any(mount.fstype in ("nfs", "nfs4") for mount in mounts_for(cluster, node)):
        yield "nfs client"
    if any(top.groups for top in tops_for(cluster, node)):
        yield "acl"
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
