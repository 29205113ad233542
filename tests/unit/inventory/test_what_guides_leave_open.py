"""If a guide contradicts itself or is incomplete, its inventory has one value, and marks it as inferred."""

import pytest
from inventories import INVENTORY, cluster_at

from gpupool.cluster.schema import Inventory
from gpupool.cluster.shape import validated
from gpupool.cluster.text import read as read_text
from gpupool.cluster.units import parse_size
from gpupool.compile.system.packages import packages_for


def read(folder: str) -> Inventory:
    """Return an inventory as it is written, with its sources."""
    inventory, complaints = validated(read_text(INVENTORY / folder).data)
    assert not complaints
    assert inventory is not None
    return inventory


DAY = 86400


@pytest.mark.promise("SKY-011")
def test_exports_of_raid_boxes_are_marked_as_backed_up() -> None:
    exports = read("skynet").storage.exports
    assert {name for name, export in exports.items() if export.backed_up} == {f"pskynet{n}" for n in (1, 2, 3, 4, 5)}


@pytest.mark.promise("AAU-020", "AAU-063")
@pytest.mark.parametrize(
    ("qos", "cpus", "gpus", "wall"),
    [
        ("normal", 20, 1, 2 * DAY),
        ("short", 32, 4, 20 * 60),
        ("allgpus", 48, 8, 21 * DAY),
        ("1gpulong", 16, 1, 14 * DAY),
        ("1cpu", 1, None, 6 * 3600),
        ("deadline", 64, 8, 14 * DAY),
        ("admintest", 96, 16, DAY),
    ],
)
def test_the_limits_of_a_qos_are_those_of_the_public_documents(qos: str, cpus: int, gpus: int, wall: int) -> None:
    limits = cluster_at(INVENTORY / "aau-ai-cloud").qos[qos]
    assert (limits.limits.per_user.cpu, limits.limits.per_user.gpu, limits.max_wall) == (cpus, gpus, wall)


@pytest.mark.promise("AAU-053", "AAU-059", "AAU-064", "AAU-065", "AAU-066", "AAU-068")
def test_the_pilot_is_two_nodes_with_a_default_partition_and_qos() -> None:
    inventory, cluster = read("aau-ai-cloud"), cluster_at(INVENTORY / "aau-ai-cloud")
    assert set(inventory.gpu_types) == {"v100"}
    assert cluster.partitions["batch"].default
    assert [name for name, qos in cluster.qos.items() if qos.default] == ["normal"]
    sources = {node.name: node.src for node in inventory.nodes if "compute" in node.roles}
    assert sources == {"nv-ai-01": "L11 external", "nv-ai-03": "L11 L120"}
    assert [mount.entry.fs for mount in cluster.mounts if mount.at == "/user"] == ["ceph"]
    assert [node.name for node in cluster.nodes.values() if "tmux" in packages_for(cluster, node)] == ["ai-pilot"]


@pytest.mark.promise("GCP-029", "GCP-033", "GCP-034")
def test_nodes_are_elastic_with_full_names_and_users_have_keys() -> None:
    cluster = cluster_at(INVENTORY / "gcp-slurm")
    assert all(node.elastic for node in cluster.having("compute"))
    assert all(len(user) > 8 for user in cluster.users)
    assert not cluster.access.password_login


@pytest.mark.promise("ARA-013", "ARA-051")
def test_results_are_kept_on_the_worker_and_every_worker_has_a_gpu() -> None:
    inventory, cluster = read("arandu"), cluster_at(INVENTORY / "arandu")
    assert [mount.at for mount in cluster.mounts] == ["/home"]
    assert all(node.gpu_count for node in cluster.having("compute"))
    assert inventory.gpu_types["ws"].inferred is True
    assert set(inventory.hardware["workstation"].inferred or ()) == {"cpus", "memory", "gpu_slots"}


@pytest.mark.promise("SDU-035", "SDU-051", "SDU-054")
def test_a_node_agrees_with_its_row_of_the_table() -> None:
    inventory, cluster = read("santos-dumont"), cluster_at(INVENTORY / "santos-dumont")
    assert inventory.hardware["b715"].memory == parse_size("64G")
    assert cluster.partitions["gdl"].nodes == ("sdumont4000",)
    assert not any("sdumont4000" in cluster.partitions[name].nodes for name in cluster.partitions if name != "gdl")
    assert cluster.software.modules
    modules = {module.name for module in cluster.software.modules.list}
    assert {"python/3.9.1", "cudnn/8.2_cuda-11.1"} <= modules
