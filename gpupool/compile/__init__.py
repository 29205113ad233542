"""Cluster to files: what a node gets, by role, as plain data."""

from collections.abc import Callable, Iterable, Mapping

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.slurm import arbiter, conf
from gpupool.compile.system import (
    daemons,
    devices,
    driver,
    fileserver,
    names,
    repositories,
    spaces,
    ssh,
    storage,
    tools,
    usage,
)
from gpupool.wanted import File

Generator = Callable[[Cluster, Node], Iterable[File]]

#: Role to what makes its files, in the order in which they are shown.
FILES: Mapping[str, Generator] = {
    "base": names.files,
    "repositories": repositories.files,
    "ssh": ssh.files,
    "munge": daemons.munge,
    "database": daemons.database,
    "slurm": conf.files,
    "controller": daemons.controller,
    "arbiter": arbiter.files,
    "compute": daemons.compute,
    "driver": driver.files,
    "gpu": devices.files,
    "head": daemons.head,
    "fileserver": fileserver.files,
    "tools": tools.files,
    "spaces": spaces.files,
    "usage": usage.files,
    "storage": storage.files,
}


def files_for(cluster: Cluster, node: Node) -> tuple[File, ...]:
    """Return every file of a node."""
    return tuple(file for role in FILES for file in files_of(cluster, node, role))


def links_for(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return every symbolic link of a node, path to target."""
    return {**names.links(cluster), **storage.links_for(cluster, node)}


def files_of(cluster: Cluster, node: Node, role: str) -> list[File]:
    """Return the files that one role puts on a node; KeyError for a role that puts none anywhere."""
    return list(FILES[role](cluster, node))
