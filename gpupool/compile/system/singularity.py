"""Singularity (Apptainer): its settings, users' scratch directories, and subordinate ids for building images."""

import re
from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.containers import Download
from gpupool.compile.containers import singularity_on
from gpupool.compile.of_user import shell_word
from gpupool.compile.template import fill
from gpupool.distributions.tables import Purpose
from gpupool.wanted import File

SETTINGS = "/etc/apptainer/apptainer.conf"
SCRATCH = "/etc/profile.d/gpupool-singularity.sh"
PIN = "/etc/apt/preferences.d/gpupool-singularity"


def package(node: Node) -> str:
    """Return the name of a node's package of Apptainer, which also has the command singularity."""
    (name,) = node.system.packages["singularity"]
    return name


def packages(cluster: Cluster, node: Node) -> set[str]:
    """Return the names of the packages that Singularity needs, including Apptainer if a repository has that."""
    singularity = singularity_on(cluster, node)
    if singularity is None:
        return set()
    purposes: list[Purpose] = ["building images"]
    purposes += [] if cluster.drivers.contained(node.name) else ["mounting images"]
    purposes += [] if fetched_for(cluster, node) else ["singularity"]
    return node.system.names(*purposes)


def repositories(cluster: Cluster, node: Node) -> Iterator[str]:
    """Yield the repository with the package, if a node needs one."""
    singularity = singularity_on(cluster, node)
    if singularity and singularity.repository:
        yield singularity.repository


def pin(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the pin with which apt takes only this package from the repository, which may have a whole release.

    Other packages are not pinned if the inventory uses the repository for them, too.
    """
    for name in repositories(cluster, node):
        repository = cluster.software.repositories[name]
        cuda, docker = cluster.software.cuda, cluster.software.docker
        others = {driver.repository for driver in (cuda, *cuda.overrides)} if cuda else set()
        others |= {docker.toolkit} if docker else set()
        others.add(cluster.slurm.repository_of(node.system))
        if repository.suite.endswith("/") or repository.suite in (node.system.codename, "stable"):
            # The repository has the distribution's release, so only its host differs.
            pins = [f"origin {re.sub(r'^[a-z]+://([^/@]*@)?|[:/].*', '', repository.url)}"]
            alone = False
        else:
            # A suite is a codename (sid) or an archive name (unstable).
            pins = [f"release n={repository.suite}", f"release a={repository.suite}"]
            alone = name not in others
        yield File(PIN, fill("apt-pin", package=package(node), pins=pins, alone=alone))


def fetched_for(cluster: Cluster, node: Node) -> Download | None:
    """Return the download of a node's package, if no repository has it."""
    singularity = singularity_on(cluster, node)
    return singularity.package if singularity and not singularity.repository else None


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield Singularity's files; nothing on a node without it."""
    singularity = singularity_on(cluster, node)
    if singularity is None:
        return
    yield File(SETTINGS, fill("apptainer.conf", dev="minimal" if singularity.dev == "minimal" else "yes"))
    if singularity.scratch:
        yield File(SCRATCH, fill("singularity.sh", scratch=shell_word(singularity.scratch)))


def builders_for(cluster: Cluster, node: Node) -> list[str]:
    """Return the users who get subordinate ids for building images, by uid; empty if builds are not allowed."""
    singularity = singularity_on(cluster, node)
    if singularity is None or not singularity.fakeroot:
        return []
    return [user.name for user in sorted(cluster.users.values(), key=lambda user: user.uid)]
