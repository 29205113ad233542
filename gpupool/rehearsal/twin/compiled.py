"""The files and accounting entities that production would get, before the twin's changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpupool.cluster.model import Cluster
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.slurm.releases import SINCE, Known, has


@dataclass(frozen=True)
class Compiled:
    """The files of controller, database and compute nodes (path -> text), and slurmdbd's entities."""

    files: Mapping[str, str]
    entities: Mapping[str, Any]


def compiled(cluster: Cluster) -> Compiled:
    """Return the files and entities that an apply installs; a file that differs between nodes is the controller's."""
    cluster = replace(cluster, slurm=cluster.slurm.of_packages())  # the twin's image has these
    files: dict[str, str] = {}
    for node in (cluster.controllers[0], cluster.database, *cluster.having("compute")[:1]):
        for file in files_for(cluster, node):
            files.setdefault(file.path, file.text)
    return Compiled(files, entities(cluster))


def of_version(cluster: Cluster, version: Known) -> Cluster:
    """Return the cluster with another version of Slurm, without settings that this version lacks."""
    if cluster.slurm.version == version:
        return cluster
    slurm = cluster.slurm.model_copy(update={"version": version})
    if has(version, "RestrictedCoresPerGPU"):
        return replace(cluster, slurm=slurm)
    nodes = {name: replace(node, cpus_kept=0) for name, node in cluster.nodes.items()}
    return replace(cluster, slurm=slurm, nodes=nodes)


def cannot(version: str) -> Mapping[str, str]:
    """Return the promises that a Slurm version cannot make, with the reason."""
    if has(version, "RestrictedCoresPerGPU"):
        return {}
    since = SINCE["RestrictedCoresPerGPU"]
    return {"neighbour-cpus": f"Slurm {version} cannot keep CPUs for GPUs: RestrictedCoresPerGPU came with {since}"}
