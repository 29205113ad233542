"""The public clusters in inventory/others are valid, short, compile to Slurm's files, and contain no person's name."""

import re
from functools import cache

import pytest
from inventories import INVENTORY
from submitted import Plugin

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.cluster.text import read
from gpupool.compile import files_for
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.gres import gres_conf
from gpupool.compile.slurm.submit import job_submit_lua

OTHERS = INVENTORY / "others"
FOLDERS = sorted(path.name for path in OTHERS.iterdir())


@cache
def cluster_of(folder: str) -> Cluster:
    loaded = examine(OTHERS / folder)
    assert [str(error) for error in loaded.errors] == []
    assert loaded.cluster is not None
    return loaded.cluster


def text_of(folder: str) -> str:
    return "".join(file.read_text(encoding="utf-8") for file in sorted((OTHERS / folder).glob("*.yml")))


def one_node_of_each_kind(cluster: Cluster) -> list[str]:
    """Return the first node of each set of roles, hardware and GPUs."""
    nodes = reversed(cluster.nodes.values())
    kinds = {(node.roles, node.cpus, node.memory, tuple(node.gpus.items())): node.name for node in nodes}
    return list(kinds.values())


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_inventory_is_valid(folder: str) -> None:
    assert cluster_of(folder).having("compute")


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_inventory_is_short(folder: str) -> None:
    assert 40 <= len(text_of(folder).splitlines()) <= 120


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_kind_of_node_has_its_files(folder: str) -> None:
    cluster = cluster_of(folder)
    for name in one_node_of_each_kind(cluster):
        node = cluster.nodes[name]
        paths = {file.path for file in files_for(cluster, node)}
        assert ("/etc/slurm/slurm.conf" in paths) == node.has("controller", "backup-controller"), name
        assert ("/etc/default/slurmd" in paths) == node.has("compute"), name


@pytest.mark.parametrize("folder", FOLDERS)
def test_slurm_has_every_partition_gpu_type_and_account(folder: str) -> None:
    cluster = cluster_of(folder)
    conf, gres = slurm_conf(cluster), gres_conf(cluster)
    assert [name for name in cluster.partitions if f"\nPartitionName={name} " not in conf] == []
    assert {gpu for node in cluster.nodes.values() for gpu in node.gpus if f":{gpu}:" not in conf} == set()
    assert ("Name=gpu" in gres or "AutoDetect=" in gres) == any(node.gpus for node in cluster.nodes.values())
    assert set(entities(cluster)["accounts"]) == set(cluster.accounts)
    assert set(entities(cluster)["users"]) == set(cluster.users)


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_inventory_names_its_public_guide(folder: str) -> None:
    assert any(file.read_text(encoding="utf-8").startswith("# ") for file in (OTHERS / folder).glob("*.yml"))
    assert "src: " in text_of(folder) or cluster_of(folder).entry.guide


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_inventory_names_a_person(folder: str) -> None:
    users = read(OTHERS / folder).data.get("users", [])
    assert [user["name"] for user in users if not re.fullmatch(r"u-[a-z-]+[0-9]+", user["name"])] == []
    assert [user["name"] for user in users if {"full_name", "keys"} & set(user)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_addresses_are_made_up_and_no_file_is_a_link(folder: str) -> None:
    assert cluster_of(folder).entry.network.startswith("10.")
    assert set(re.findall(r"https?://([^/]*)", text_of(folder))) <= {"packages.example.org"}


def test_networks_do_not_overlap() -> None:
    networks = [cluster_of(folder).entry.network for folder in FOLDERS]
    assert len(set(networks)) == len(networks)


def test_a_condo_gives_owners_their_contribution_and_guests_the_rest() -> None:
    klone = cluster_of("hyak-klone")
    guests = {name for name, partition in klone.partitions.items() if partition.preemptable}
    assert guests == {"ckpt", "ckpt-g2", "ckpt-all"}
    assert set(klone.partitions["ckpt-all"].nodes) == {node.name for node in klone.having("compute")}
    assert not set(klone.partitions["ckpt"].nodes) & set(klone.partitions["ckpt-g2"].nodes)
    caps = entities(klone)["accounts"]
    assert caps["ocean"]["GrpTRES"] == {"cpu": 160, "mem": 700 * 1024, "gres/gpu": 0}
    assert (caps["vision"]["GrpTRES"]["gres/gpu:rtx6k"], caps["vision"]["GrpTRES"]["gres/gpu:a100"]) == (8, 0)


def test_a_qos_has_a_price_and_preempts_after_two_hours() -> None:
    perlmutter = cluster_of("perlmutter")
    qos = entities(perlmutter)["qos"]
    prices = {name: qos[name].get("UsageFactor") for name in ("regular", "premium", "preempt", "overrun")}
    assert prices == {"regular": None, "premium": 2.0, "preempt": 0.25, "overrun": 0.0}
    assert qos["preempt"]["PreemptExemptTime"] == 2 * 60 * 60
    larger = [node.name for node in perlmutter.having("compute") if "a100_80g" in node.features]
    assert (len(larger), len(perlmutter.partitions["gpu_ss11"].nodes)) == (256, 1792)


def test_classes_get_slices_and_groups_get_whole_gpus() -> None:
    rockfish = cluster_of("rockfish")
    assert rockfish.partitions["mig_class"].nodes == ("gpuz01",)
    assert dict(rockfish.nodes["gpuz01"].gpus) == {"a100_2g.20gb": 12}
    assert "AutoDetect=nvml" in gres_conf(rockfish)
    assert {user.name for user in rockfish.users.values() if user.entry.until} == {"u-class1", "u-class2"}


def test_a_node_of_eight_amd_gpus_reserves_eight_of_its_cores() -> None:
    lumi = cluster_of("lumi")
    line = next(line for line in slurm_conf(lumi).splitlines() if line.startswith("NodeName=") and "mi250:8" in line)
    assert "CoreSpecCount=8" in line.split()
    assert len(lumi.partitions["standard-g"].nodes) == 2728
    assert "AutoDetect=rsmi" in gres_conf(lumi)


def test_partners_share_partitions_and_each_has_a_qos_with_what_it_has_added() -> None:
    hazel = cluster_of("hazel")
    qos = entities(hazel)["qos"]
    assert qos["p_genetics"]["GrpTRES"] == {"cpu": 320}
    assert qos["p_forestry_gpu"]["GrpTRES"] == {"gres/gpu:a100": 4, "gres/gpu:l40s": 2}
    names = set(hazel.partitions["compute_partners"].nodes) & set(hazel.partitions["compute"].nodes)
    assert len(names) == 10


@pytest.mark.parametrize(
    ("asked", "qos"),
    [
        ({"partition": "compute_partners", "account": "genetics_cpu"}, "p_genetics"),
        ({"partition": "compute_partners", "default_account": "genetics_cpu"}, "p_genetics"),
        ({"partition": "gpu_partners", "account": "forestry_gpu"}, "p_forestry_gpu"),
        ({"partition": "compute_partners", "account": "textiles"}, "short"),
        ({"partition": "compute", "account": "genetics_cpu"}, "normal"),
        ({"partition": "gpu_partners", "account": "genetics_gpu", "qos": "short_gpu"}, None),
    ],
)
def test_a_partners_job_gets_the_partners_qos_in_the_partners_partitions(
    asked: dict[str, str], qos: str | None
) -> None:
    hazel = cluster_of("hazel")
    text = job_submit_lua(hazel)
    assert text is not None
    gpus = {"tres_per_node": "gres/gpu:l40s:1"} if asked["partition"].startswith("gpu") else {}
    answer = Plugin(text, partitions=dict.fromkeys(hazel.partitions, 14400)).submit(**asked, **gpus)
    assert (answer.accepted, answer.set.get("qos")) == (True, qos)


def test_the_time_of_a_job_chooses_its_qos() -> None:
    della = cluster_of("della")
    text = job_submit_lua(della)
    assert text is not None
    plugin = Plugin(text, partitions=dict.fromkeys(della.partitions, 8640))
    asked = {60: "test", 61: "short", 4320: "medium", 8640: "vlong"}
    assert {time: plugin.submit(time_limit=time).set["qos"] for time in asked} == asked
    assert plugin.submit(time_limit=8640, tres_per_node="gres/gpu:1").set["qos"] == "gpu-long"
    assert plugin.submit(qos="vlong").set["qos"] == "test"


def test_a_fat_gpu_costs_twice_as_much_as_a_thin_one() -> None:
    conf = slurm_conf(cluster_of("berzelius"))
    line = next(line for line in conf.splitlines() if line.startswith("PartitionName=berzelius "))
    assert "GRES/gpu:a100=1.0,GRES/gpu:a100_80g=2.0" in line
    assert "PriorityDecayHalfLife=21-0" in conf


def test_a_lab_preempts_contributors_and_these_preempt_all_others() -> None:
    gaivi = cluster_of("gaivi")
    steps = [gaivi.partitions[name] for name in ("Extended", "Contributors", "ScoreLab")]
    assert [step.entry.tier for step in steps] == sorted({step.entry.tier for step in steps})
    assert [step.preemptable for step in steps] == [True, True, False]
    assert set(steps[2].nodes) < set(steps[1].nodes) < set(steps[0].nodes)
