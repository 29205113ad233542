"""All inventories that come with gpupool are valid, and the four besides SkyNet agree with their user guides."""

import pytest
from inventories import INVENTORY

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster

FOLDERS = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))


def cluster_of(folder: str) -> Cluster:
    loaded = examine(INVENTORY / folder)
    assert [str(error) for error in loaded.errors] == []
    assert loaded.cluster is not None
    return loaded.cluster


def nodes_with(cluster: Cluster, gpu: str) -> list[tuple[str, int, int]]:
    """Return (name, CPUs, GPUs) of the nodes with a GPU type."""
    return [(node.name, node.cpus, node.gpus[gpu]) for node in cluster.nodes.values() if gpu in node.gpus]


def test_there_are_six_inventories() -> None:
    assert FOLDERS == ["aau-ai-cloud", "arandu", "example", "gcp-slurm", "santos-dumont", "skynet"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_inventory_is_valid(folder: str) -> None:
    assert cluster_of(folder).testbed is not None


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_has_an_inventory_file_for_plain_pyinfra(folder: str) -> None:
    text = (INVENTORY / folder / "inventory.py").read_text()
    assert text == (INVENTORY / "skynet" / "inventory.py").read_text().replace("skynet", folder)


def test_networks_do_not_overlap() -> None:
    networks = [cluster_of(folder).entry.network for folder in FOLDERS]
    assert len(set(networks)) == len(FOLDERS)
    assert all(network.startswith("10.") and network.endswith(".0.0/16") for network in networks)


@pytest.mark.promise("AAU-003", "AAU-004", "AAU-005", "AAU-007", "AAU-018", "AAU-019", "AAU-055", "AAU-062", "AAU-067")
def test_aau_ai_cloud() -> None:
    cluster = cluster_of("aau-ai-cloud")
    assert nodes_with(cluster, "v100") == [("nv-ai-01", 96, 16), ("nv-ai-03", 96, 16)]
    assert cluster.nodes["nv-ai-03"].fqdn == "nv-ai-03.srv.aau.dk"
    assert cluster.nodes["sshgw"].fqdn == "sshgw.aau.dk"
    assert 85 <= cluster.nodes["nv-ai-01"].memory / 1024 / 16 <= 95
    assert cluster.accounts["es.shj"].parent == "es"
    assert {"normal", "short", "1gpulong", "allgpus"} <= set(cluster.qos)
    assert cluster.users["u1@student.aau.dk"].qos == ("normal", "short")
    assert cluster.users["u1@student.aau.dk"].home == "/user/student.aau.dk/u1"
    assert cluster.scheduler.default_memory.per_node == 10000
    assert [(mount.at, mount.entry.fs) for mount in cluster.mounts] == [("/user", "ceph")]
    assert [node.name for node in cluster.nodes.values() if not node.managed] == ["nv-ai-02", "sshgw", "storage"]


@pytest.mark.promise("GCP-006", "GCP-008", "GCP-020", "GCP-021", "GCP-027", "GCP-031", "GCP-032")
def test_gcp_slurm() -> None:
    cluster = cluster_of("gcp-slurm")
    assert nodes_with(cluster, "l4") == [("mlmini-g2-ghpc-0", 8, 1), ("mlmini-g2-ghpc-1", 8, 1)]
    assert all(node.elastic for node in cluster.having("compute"))
    assert not set(cluster.partitions["g2"].nodes) & set(cluster.partitions["cpu"].nodes)
    assert cluster.scheduler.default_partition == "per_user"
    assert [mount.at for mount in cluster.mounts] == ["/home"]
    assert cluster.having("fileserver") != cluster.having("controller")


@pytest.mark.promise("ARA-001", "ARA-002", "ARA-003", "ARA-006", "ARA-007", "ARA-019", "ARA-041", "ARA-052")
def test_arandu() -> None:
    cluster = cluster_of("arandu")
    assert len(cluster.nodes) == 6
    assert nodes_with(cluster, "a100") == [("dgx01", 256, 8)]
    assert {name: partition.nodes for name, partition in cluster.partitions.items()} == {
        "arandu": ("dgx01",),
        "devwork": ("c4aiscw1", "c4aiscw2", "c4aiscw3", "c4aiscw4"),
    }
    assert not cluster.gpu.constrain_devices
    assert cluster.nodes["c4aiscm1"].has("head")
    assert cluster.nodes["c4aiscm1"].has("controller")
    assert not cluster.nodes["c4aiscm1"].has("compute")


@pytest.mark.promise("SDU-025", "SDU-029", "SDU-030", "SDU-045", "SDU-051", "SDU-053", "SDU-054", "SDU-055")
def test_santos_dumont() -> None:
    cluster = cluster_of("santos-dumont")
    assert cluster.name == "sdumont"
    assert len(nodes_with(cluster, "k40")) == 51
    assert {(cpus, gpus) for _, cpus, gpus in nodes_with(cluster, "k40")} == {(24, 2)}
    assert ("sdumont4000", 40, 8) in nodes_with(cluster, "v100")
    assert cluster.partitions["gdl"].nodes == ("sdumont4000",)
    assert 60 * 1024 < cluster.nodes["sdumont3000"].memory < 64 * 1024, "64 GB, less what the system keeps"
    assert {name: partition.entry.billing.cpu for name, partition in cluster.partitions.items()} == {
        **dict.fromkeys(QUEUES, 1.5),
        "gdl": 2.0,
    }
    home = next(mount for mount in cluster.mounts if mount.at == "/prj")
    assert home.nodes == ("login",)


QUEUES = {
    "nvidia_dev": (20, 1, 51),
    "nvidia_small": (60, 1, 51),
    "nvidia_long": (31 * 24 * 60, 1, 51),
    "nvidia_scal": (18 * 60, 51, 51),
    "nvidia": (48 * 60, 21, 51),
    "sequana_gpu": (96 * 60, 1, 4),
    "sequana_gpu_dev": (20, 1, 4),
    "sequana_gpu_long": (31 * 24 * 60, 1, 4),
    "gdl": (48 * 60, 1, 1),
}


@pytest.mark.promise(*(f"SDU-0{number}" for number in range(16, 25)), "SDU-028", "SDU-052")
@pytest.mark.parametrize(("name", "row"), QUEUES.items())
def test_queues_of_santos_dumont(name: str, row: tuple[int, int, int]) -> None:
    cluster = cluster_of("santos-dumont")
    partition = cluster.partitions[name]
    assert ((partition.entry.max_time or 0) // 60, partition.entry.max_nodes, len(partition.nodes)) == row
    assert not partition.default
