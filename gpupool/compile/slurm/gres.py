"""gres.conf and cgroup.conf: the device files of GPUs, and the limits of each job's cgroup."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from gpupool.cluster.attachments import SLURM
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.hardware import cores as cores_of
from gpupool.compile.slurm.parameters import merged, pairs
from gpupool.compile.template import fill
from gpupool.slurm.hostlists import fold_set
from gpupool.slurm.keys.tables import of_groups
from gpupool.slurm.releases import cgroup_plugin, has

# Where a host with cgroup v1 and v2 mounts the v1 controllers for Slurm, which refuses both at one mount point.
V1_MOUNT = "/cg1"
#: The gres of GPUs that are out of service: Slurm denies jobs only the device files that gres.conf names, and CUDA
#: would use any other. The submit plugin refuses jobs that request it; jobs with whole nodes do not get it (explicit).
OUT_OF_SERVICE = "out_of_service"


@lru_cache(maxsize=4)
def gres_conf(cluster: Cluster) -> str:
    """Return gres.conf for all nodes; nodes with the same GPUs share lines.

    If `slurm.left` has gpus, it is the site's own file of the folder `slurm`, except on a testbed without GPUs.
    """
    finds = cluster.drivers.gpu != "fake"
    if "gpus" in cluster.slurm.left and finds:
        return cluster.attached.get(f"{SLURM}/gres.conf", "# the site has no lines\n")
    lines = [line for nodes in _alike(cluster) for line in _gpu_lines(cluster, nodes, finds=finds)]
    return fill("gres.conf", cluster=cluster, lines=[*lines, *_own_lines(cluster), *_closed_lines(cluster)])


def stand_ins(cluster: Cluster) -> dict[str, list[str]]:
    """Return the lines of gres.conf that replace each line with AutoDetect where slurmd cannot find GPUs."""
    return {
        line: list(_gpu_lines(cluster, nodes, finds=False))
        for nodes in _alike(cluster)
        if nodes[0].devices[0].autodetect
        for line in _gpu_lines(cluster, nodes, finds=True)
    }


def _alike(cluster: Cluster) -> list[list[Node]]:
    unit = cluster.scheduler.allocate
    alike: dict[tuple[object, ...], list[Node]] = {}
    for node in cluster.having("compute"):
        if node.devices:
            alike.setdefault((node.devices, cores_of(node, unit) if node.cpus_kept else 0), []).append(node)
    return list(alike.values())


def _gpu_lines(cluster: Cluster, nodes: list[Node], *, finds: bool) -> Iterator[str]:
    node, names = nodes[0], fold_set(node.slurm_name for node in nodes)
    if finds and (found_by := node.devices[0].autodetect):
        # slurm.conf has their types and counts.
        yield f"NodeName={names} AutoDetect={found_by}"
        return
    # Slurm keeps CPUs only for a GPU that has Cores: here all cores of the node.
    cores = f" Cores=0-{cores_of(node, cluster.scheduler.allocate) - 1}" if node.cpus_kept else ""
    for gpu, group in groupby(node.devices, key=lambda device: device.gpu):
        devices = list(group)
        single = [device.files[0] for device in devices if len(device.files) == 1]
        if single:
            yield f"NodeName={names} Name=gpu Type={gpu} File={fold_set(single)}{cores}"
        for device in devices:
            if len(device.files) > 1:
                yield f"NodeName={names} Name=gpu Type={gpu} MultipleFiles={','.join(device.files)}{cores}"


def _own_lines(cluster: Cluster) -> Iterator[str]:
    alike: dict[tuple[str, int], list[str]] = {}
    for node in cluster.having("compute"):
        for name, count in node.gres.items():
            alike.setdefault((name, count), []).append(node.slurm_name)
    for (name, count), nodes in alike.items():
        yield f"NodeName={fold_set(nodes)} Name={name} Count={count} Flags=CountOnly"


def closed(cluster: Cluster, node: Node) -> list[str]:
    """Return the device files of a node's GPUs out of service, which no job may open."""
    if not cluster.gpu.constrain_devices:
        return []
    return [f"/dev/nvidia{minor}" for minor in node.minors_out_of_service]


def _closed_lines(cluster: Cluster) -> Iterator[str]:
    for node in cluster.having("compute"):
        if files := closed(cluster, node):
            yield f"NodeName={node.slurm_name} Name={OUT_OF_SERVICE} Flags=explicit File={fold_set(files)}"


@lru_cache(maxsize=4)
def cgroup_conf(cluster: Cluster) -> str:
    """Return cgroup.conf."""
    parameters = cluster.slurm.cgroup.parameters
    version = cluster.slurm.version
    text = fill(
        "cgroup.conf", cluster=cluster, v1_mount=V1_MOUNT, plugin=cgroup_plugin(version),
        has_scope_timeout=has(version, "SystemdTimeout"), parameters=pairs(parameters),
    )  # fmt: skip
    return merged(text, parameters, of_groups("cgroup", cluster.slurm.left))
