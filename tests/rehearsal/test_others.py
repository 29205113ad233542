"""The clusters of other sites: a real slurmctld accepts their compiled files, and labs get the GPUs they own."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import full
import pytest
from inventories import INVENTORY
from rehearsing import finding_lines, outcomes

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.rehearsal.promises import PROMISES
from gpupool.rehearsal.run import rehearse
from gpupool.rehearsal.scenarios.promises import promises
from gpupool.rehearsal.twin import Twin
from gpupool.rehearsal.twin import container as twin_container

OTHERS = INVENTORY / "others"
FOLDERS = sorted(path.parent.name for path in OTHERS.glob("*/inventory.yml"))
MOST = 100  # slurmds of a twin; of a larger cluster, some nodes of each kind, and the nodes that labs own
OF_EACH = {"hyak-klone": 5}  # so many that its labs find their GPUs in the pool; two of each kind in other clusters
# Clusters with labs.
REHEARSED = ["alvis", "hyak-klone", "savio", "sherlock", "chip", "gaivi", "gilbreth"]
# Of the eight that were listed before they were tried, gilbreth and berzelius have the most keys.
ONLY_IN_FULL = {"hazel", "chip", "pegasus", "entropy", "della", "gaivi"}


def marked(folders: list[str]) -> list[object]:
    """Return parameters for folders; some of them only for the long form of the suite."""
    return [pytest.param(folder, marks=full.only) if folder in ONLY_IN_FULL else folder for folder in folders]


@cache
def of_folder(folder: str) -> Cluster:
    """Return the cluster of a folder, made smaller if it is too large for a twin."""
    cluster = load(OTHERS / folder)
    return cluster if len(cluster.having("compute")) <= MOST else smaller(cluster, OF_EACH.get(folder, 2))


def smaller(cluster: Cluster, each: int) -> Cluster:
    """Return a cluster with only `each` of similar nodes: of the same model, in the same partitions."""
    owned = {name for account in cluster.accounts.values() for name in account.nodes}
    places = {
        name: tuple(label for label, partition in cluster.partitions.items() if name in partition.nodes)
        for name in cluster.nodes
    }
    alike: dict[tuple[object, ...], list[str]] = {}
    for node in cluster.having("compute"):
        kind = (node.cpus, node.memory, tuple(node.gpus.items()), node.features, places[node.name])
        alike.setdefault(kind, []).append(node.name)
    kept = {name for names in alike.values() for name in names[:each]} | owned
    nodes = {name: node for name, node in cluster.nodes.items() if name in kept or not node.has("compute")}
    partitions = {
        name: replace(partition, nodes=tuple(member for member in partition.nodes if member in nodes))
        for name, partition in cluster.partitions.items()
    }
    mounts = tuple(
        replace(mount, nodes=tuple(name for name in mount.nodes if name in nodes)) for mount in cluster.mounts
    )
    return replace(cluster, nodes=nodes, partitions=partitions, mounts=mounts)


@pytest.fixture(scope="module")
def twin(request: pytest.FixtureRequest) -> Iterator[Twin]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUPOOL_TWIN_PREFIX", f"{twin_container.prefix()}-{os.getpid()}")
        with Twin.start(of_folder(request.param)) as twin:
            yield twin


def gres(node: Node) -> str:
    """Return the resources of a node in slurmctld."""
    gpus = [f"gpu:{gpu}:{count}" for gpu, count in node.gpus.items()]
    return ",".join([*gpus, *(f"{name}:{count}" for name, count in node.gres.items())]) or "(null)"


@pytest.mark.parametrize("twin", marked(FOLDERS), indirect=True)
def test_every_node_is_idle_with_its_gpus(twin: Twin) -> None:
    shown = twin.run("scontrol -o show node").out.splitlines()
    nodes = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in shown]
    wanted = {node.slurm_name: ("IDLE", str(node.cpus), gres(node)) for node in twin.cluster.having("compute")}
    # gpu:a40:8(S:0): slurmctld adds the sockets if it knows them
    seen = {
        node["NodeName"]: (node["State"], node["CPUTot"], re.sub(r"\(S:[^)]*\)", "", node["Gres"])) for node in nodes
    }
    assert seen == wanted


@pytest.mark.parametrize("twin", marked(FOLDERS), indirect=True)
def test_every_partition_is_up_with_its_nodes(twin: Twin) -> None:
    shown = (line.split() for line in twin.run("sinfo -h -o '%R %a %T %D'").out.splitlines())
    wanted = {name: ("up", "idle", str(len(partition.nodes))) for name, partition in twin.cluster.partitions.items()}
    assert {name: (up, state, nodes) for name, up, state, nodes in shown} == wanted


@pytest.mark.parametrize("twin", marked(REHEARSED), indirect=True)
def test_labs_get_what_they_own(twin: Twin, request: pytest.FixtureRequest) -> None:
    twin.clear()
    extra = promises(OTHERS / request.node.callspec.params["twin"], twin.cluster)
    chosen = {promise.key for promise in (*PROMISES, *extra)} - {"timeout"}
    rehearsal = rehearse(twin, twin.cluster, only=chosen, extra=extra)
    assert not outcomes(rehearsal, "broken"), finding_lines(rehearsal)
    assert "owned" in outcomes(rehearsal, "kept"), finding_lines(rehearsal)


@pytest.mark.parametrize("twin", ["gilbreth"], indirect=True)
def test_a_job_gets_the_type_of_its_partition(twin: Twin) -> None:
    user = next(name for name, one in twin.cluster.users.items() if "physics" in one.accounts)
    for option in ("--gpus=1", "--gres=gpu:1", "--gpus-per-node=1", "-n 1 --gpus-per-task=1"):
        job = f"cd /tmp; sbatch --parsable -H -A physics {option} --wrap true"
        held = int(twin.run(f"{job} -p v100", user).out)
        assert "gres/gpu:v100=1" in twin.run(f"scontrol -o show job {held}").out, option
        assert "Specify the GPU type" in twin.run(f"{job} -p training", user).err
