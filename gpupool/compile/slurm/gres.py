"""gres.conf and cgroup.conf: which device files are GPUs, and the fence around each job."""

from functools import lru_cache

from gpupool.cluster.model import Cluster, Node
from gpupool.cluster.slurm_versions import cgroup_plugin
from gpupool.compile.slurm.hardware import cores as cores_of
from gpupool.compile.slurm.names import folded
from gpupool.compile.slurm.parameters import merged, pairs
from gpupool.compile.template import fill

# where the v1 controllers of a hybrid host are mounted for Slurm, which refuses the mixture at its usual place
V1_MOUNT = "/cg1"


@lru_cache(maxsize=4)
def gres_conf(cluster: Cluster) -> str:
    """Return gres.conf for all nodes; nodes with the same GPUs share lines."""
    unit = cluster.scheduler.allocate
    alike: dict[tuple[object, ...], list[Node]] = {}
    for node in cluster.having("compute"):
        if node.gpus:
            alike.setdefault((*node.gpus.items(), cores_of(node, unit) if node.cpus_kept else 0), []).append(node)
    lines = []
    for nodes in alike.values():
        first, names = 0, folded(node.slurm_name for node in nodes)
        # CPUs are kept only for a GPU that says which are near it: here all of them
        cores = f" Cores=0-{cores_of(nodes[0], unit) - 1}" if nodes[0].cpus_kept else ""
        for gpu, count in nodes[0].gpus.items():
            if count:
                lines.append(f"NodeName={names} Name=gpu Type={gpu} File={_devices(first, count)}{cores}")
            first += count
    return fill("gres.conf", cluster=cluster, lines=lines)


def _devices(first: int, count: int) -> str:
    return f"/dev/nvidia{first}" if count == 1 else f"/dev/nvidia[{first}-{first + count - 1}]"


@lru_cache(maxsize=4)
def cgroup_conf(cluster: Cluster) -> str:
    """Return cgroup.conf."""
    said = cluster.slurm.cgroup.parameters
    plugin = cgroup_plugin(cluster.slurm.version)
    text = fill("cgroup.conf", cluster=cluster, v1_mount=V1_MOUNT, plugin=plugin, parameters=pairs(said))
    return merged(text, said)
