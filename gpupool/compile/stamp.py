"""The digest of everything that an elastic node must have: it shows whether a node that starts is outdated."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_for, links_for
from gpupool.compile.slurm.elastic import STAMP, sleepers
from gpupool.compile.system.packages import packages_for, versions_for
from gpupool.compile.system.people import groups_for, people_for
from gpupool.compile.system.storage import mounts_for
from gpupool.wanted import File


def stamp(cluster: Cluster, node: Node) -> File:
    """Return the file with a node's digest, which is installed after everything else."""
    return File(STAMP, f"{_digest(cluster, node)}\n")


@lru_cache(maxsize=4)
def stamps(cluster: Cluster) -> Mapping[str, str]:
    """Return the digest of each elastic node, by NodeName."""
    return {node.slurm_name: _digest(cluster, node) for node in sleepers(cluster)}


def _digest(cluster: Cluster, node: Node) -> str:
    parts = [
        [(file.path, file.text, file.owner, file.group, file.mode) for file in files_for(cluster, node)],
        sorted(links_for(cluster, node).items()),
        packages_for(cluster, node),
        sorted(versions_for(cluster, node).items()),
        sorted(groups_for(cluster).items()),
        [asdict(user) for user in people_for(cluster, node)],
        [(mount.path, mount.source, mount.fstype, mount.options) for mount in mounts_for(cluster, node)],
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
