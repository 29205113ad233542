"""Compile a Cluster to the files of each node, by role, as plain data."""

from collections.abc import Callable, Iterable, Mapping

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm import arbiter, conf, elastic, jobs
from gpupool.compile.system import (
    backup,
    base,
    budgets,
    conda,
    daemons,
    devices,
    directory,
    docker,
    drift,
    driver,
    fileserver,
    firewall,
    health,
    images,
    login,
    modules,
    names,
    reaper,
    reboot,
    repositories,
    sessions,
    singularity,
    site_files,
    slurmd,
    spaces,
    ssh,
    steps,
    storage,
    tools,
    usage,
    web,
)
from gpupool.wanted import File

Generator = Callable[[Cluster, Node], Iterable[File]]

#: The function that makes the files of each role, in the order in which `render` prints them.
FILES: Mapping[str, Generator] = {
    "base": base.files,
    "repositories": repositories.files,
    "site_files": site_files.files,
    "ssh": ssh.files,
    "directory": directory.files,
    "munge": daemons.munge,
    "database": daemons.database,
    "slurm": conf.files,
    "controller": daemons.controller,
    "arbiter": arbiter.files,
    "drift": drift.files,
    "budgets": budgets.files,
    "elastic": elastic.files,
    "backup": backup.files,
    "jobs": jobs.files,
    "health": health.files,
    "compute": slurmd.compute,
    "steps": steps.files,
    "driver": driver.files,
    "gpu": devices.files,
    "docker": docker.files,
    "singularity": singularity.files,
    "images": images.files,
    "head": daemons.head,
    "sessions": sessions.files,
    "reaper": reaper.files,
    "reboot": reboot.files,
    "fileserver": fileserver.files,
    "tools": tools.files,
    "login": login.files,
    "modules": modules.files,
    "conda": conda.files,
    "web": web.files,
    "spaces": spaces.files,
    "usage": usage.files,
    "storage": storage.files,
    "firewall": firewall.files,
}


#: Units and drop-ins, settings of systemd's daemons, of MariaDB and of sssd. Of two values in files of sshd, the first
#: counts (see `sshd`); nftables, exports, docker and nginx have no settings of this kind.
_LAYERED = ("/etc/systemd/", "/etc/mysql/", "/etc/sssd/sssd.conf")


def files_for(cluster: Cluster, node: Node) -> tuple[File, ...]:
    """Return all files of a node, without roles that are not managed there; a file of several roles is there once."""
    managed = (role for role in FILES if node.manages(role))
    return tuple(dict.fromkeys(file for role in managed for file in files_of(cluster, node, role)))


def layered_for(cluster: Cluster, node: Node) -> list[str]:
    """Return the paths of a node's files with settings that a later file of the same daemon can override."""
    return [file.path for file in files_for(cluster, node) if file.path.startswith(_LAYERED)]


def links_for(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return all symbolic links of a node, path to target, without those of roles that are not managed there."""
    links = {
        "base": names.links(cluster),
        "storage": storage.links_for(cluster, node),
        "conda": conda.links(cluster, node),
    }
    return {path: target for role, own in links.items() if node.manages(role) for path, target in own.items()}


def files_of(cluster: Cluster, node: Node, role: str) -> list[File]:
    """Return the files that one role puts on a node; KeyError for a role without files."""
    return list(FILES[role](cluster, node))
