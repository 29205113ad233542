"""Singularity, which is Apptainer: its settings, where users keep what is temporary, numbers for those who build."""

import re
from collections.abc import Iterator

from gpupool.cluster.model import Cluster, Node
from gpupool.cluster.schema.software import Download
from gpupool.compile.containers import singularity_on
from gpupool.compile.of_user import in_shell
from gpupool.compile.template import fill
from gpupool.wanted import File

#: Debian's package; it brings the command singularity, too.
PACKAGE = "apptainer"
SETTINGS = "/etc/apptainer/apptainer.conf"
SCRATCH = "/etc/profile.d/gpupool-singularity.sh"
PIN = "/etc/apt/preferences.d/gpupool-singularity"


def packages(cluster: Cluster, node: Node) -> set[str]:
    """Return the names of the packages that singularity needs; its own where a repository has it."""
    singularity = singularity_on(cluster, node)
    if singularity is None:
        return set()
    # Debian's does not ask for squashfuse, and without it unpacks the whole image each time that one is run
    mounts = [] if cluster.drivers.contained(node.name) else ["squashfuse"]
    return {"uidmap", *mounts, *([] if fetched_for(cluster, node) else [PACKAGE])}


def repositories(cluster: Cluster, node: Node) -> Iterator[str]:
    """Yield the repository that has the package, where a node needs one."""
    singularity = singularity_on(cluster, node)
    if singularity and singularity.repository:
        yield singularity.repository


def pin(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield what tells apt to take this package, and no other, from the repository: it may have all of a release.

    Where other things are taken from the repository, too, they stay as they are.
    """
    for name in repositories(cluster, node):
        repository = cluster.software.repositories[name]
        cuda, docker = cluster.software.cuda, cluster.software.docker
        others = {it.repository for it in (cuda, *cuda.overrides)} if cuda else set()
        others |= {docker.toolkit} if docker else set()
        if repository.suite.endswith("/") or repository.suite in (cluster.software.debian, "stable"):
            # of the same release as the distribution: only its host tells it from that
            pins = [f"origin {re.sub(r'^[a-z]+://([^/@]*@)?|[:/].*', '', repository.url)}"]
            alone = False
        else:
            # a suite is a name (sid) or what it is at the time (unstable)
            pins = [f"release n={repository.suite}", f"release a={repository.suite}"]
            alone = name not in others
        yield File(PIN, fill("apt-pin", package=PACKAGE, pins=pins, alone=alone))


def fetched_for(cluster: Cluster, node: Node) -> Download | None:
    """Return where the package of a node is, if no repository has it."""
    singularity = singularity_on(cluster, node)
    return singularity.package if singularity and not singularity.repository else None


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield its files; nothing where a node has none."""
    singularity = singularity_on(cluster, node)
    if singularity is None:
        return
    yield File(SETTINGS, fill("apptainer.conf", dev="minimal" if singularity.dev == "minimal" else "yes"))
    if singularity.scratch:
        yield File(SCRATCH, fill("singularity.sh", scratch=in_shell(singularity.scratch)))


def builders_for(cluster: Cluster, node: Node) -> list[str]:
    """Return the users who get numbers of users and groups for building images, by uid; none where nobody may."""
    singularity = singularity_on(cluster, node)
    if singularity is None or not singularity.fakeroot:
        return []
    return [user.name for user in sorted(cluster.users.values(), key=lambda user: user.uid)]
