"""Singularity (Apptainer), on nodes where users run and build images."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.containers import singularity_on
from gpupool.compile.system.packages import singularity_for
from gpupool.compile.system.singularity import builders_for, fetched_for, package
from gpupool.operations import files, packages, subordinate
from gpupool.roles import apart, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes for which the inventory has Singularity."""
    return singularity_on(cluster, node) is not None


@apart
@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the package from a repository or its URL, settings, and subordinate uids for users who build images."""
    if missing := singularity_for(cluster, node):
        packages.installed(name="Singularity packages", packages=missing)
    if file := fetched_for(cluster, node):
        packages.fetched(name="Singularity", package=package(node), url=file.url, sha256=file.sha256)
    files.put(name="Singularity settings", files=files_of(cluster, node, "singularity"))
    if builders := builders_for(cluster, node):
        subordinate.numbers(name="Numbers for building images", users=builders)
