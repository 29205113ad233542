"""Limits of users' sessions: open files everywhere, and on heads each user's share of CPU, memory and processes."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm import jobs
from gpupool.compile.system.devices import ROOT_SLICE, USER_SLICE, fences_sessions
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

LIMITS = "/etc/security/limits.d/gpupool.conf"
LOGIND = "/etc/systemd/logind.conf.d/gpupool.conf"
#: systemd reads this after gpupool.conf: on a head that runs jobs, the shares for heads override its MemoryMax.
SHARE = f"{UNITS}/user-.slice.d/gpupool.head.conf"
#: For root's slice, systemd reads this drop-in instead of the other one of the same name, systemd.unit(5).
ROOT_SHARE = f"{UNITS}/user-0.slice.d/gpupool.head.conf"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the files that PAM, logind and systemd read when a session begins."""
    policies = cluster.policies
    if policies.nofile:
        yield File(LIMITS, fill("limits.conf", cluster=cluster))
    if policies.head_nodes and node.has("head"):
        yield File(SHARE, fill("share.conf", cluster=cluster, share=policies.head_nodes))
        yield File(ROOT_SHARE, fill("root-share.conf", cluster=cluster))
        yield File(LOGIND, fill("logind.conf", cluster=cluster, linger=policies.head_nodes.linger))


def watched(cluster: Cluster, node: Node) -> list[str]:
    """Return the files that logind and systemd must read after a change; GPUs' drop-ins are in the same stamp."""
    if not (cluster.policies.head_nodes and node.has("head")):
        return []
    return [SHARE, ROOT_SHARE, LOGIND, *([USER_SLICE, ROOT_SLICE] if fences_sessions(cluster, node) else [])]


def watched_of_jobs(cluster: Cluster, node: Node) -> list[str]:
    """Return the files that logind must read after a change; GPUs' drop-ins are in the same stamp."""
    if not jobs.cleans(cluster, node):
        return []
    return [jobs.LOGIND, *([USER_SLICE, ROOT_SLICE] if fences_sessions(cluster, node) else [])]
