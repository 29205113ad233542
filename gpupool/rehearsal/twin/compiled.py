"""The files and accounting entities that production would get, before the twin's changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.parameters import Parameters
from gpupool.cluster.schema.scheduling import Slurm
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.slurm.keys.tables import of_groups
from gpupool.slurm.releases import SINCE, Known, has

_OF_MACHINES = ("cgroups", "steps", "configless", "place")  # groups of `slurm.left` that no promise depends on
_ROLES = frozenset(("database",))  # roles whose files a twin needs, also where the site has its own


@dataclass(frozen=True)
class Compiled:
    """The files of controller, database and compute nodes (path -> text), and slurmdbd's entities."""

    files: Mapping[str, str]
    entities: Mapping[str, Any]


def compiled(cluster: Cluster) -> Compiled:
    """Return the files and entities that an apply installs; a file that differs between nodes is the controller's."""
    nodes = {name: replace(node, managed_roles=node.managed_roles | _ROLES) for name, node in cluster.nodes.items()}
    cluster = replace(cluster, slurm=_in_the_image(cluster.slurm), nodes=nodes)
    files: dict[str, str] = {}
    for node in (cluster.controllers[0], cluster.database, *cluster.having("compute")[:1]):
        for file in files_for(cluster, node):
            files.setdefault(file.path, file.text)
    return Compiled(files, entities(cluster))


def _in_the_image(slurm: Slurm) -> Slurm:
    """Return the settings with the image's packages, users, daemons and control groups instead of the site's own."""
    cgroup = slurm.cgroup.model_copy(update={"parameters": _without("cgroup", slurm.cgroup.parameters)})
    return slurm.of_packages().model_copy(
        update={
            "left": tuple(group for group in slurm.left if group not in _OF_MACHINES),
            "parameters": _without("slurm_conf", slurm.parameters),
            "cgroup": cgroup,
        }
    )


def _without(table: str, parameters: Parameters) -> Parameters:
    return {key: value for key, value in parameters.items() if key.lower() not in of_groups(table, _OF_MACHINES)}


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
