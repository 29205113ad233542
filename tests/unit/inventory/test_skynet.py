"""The inventory of SkyNet agrees with its user guide."""

import ipaddress
from collections import Counter
from pathlib import Path

import pytest

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.machines import NodeEntry
from gpupool.cluster.shape import validated
from gpupool.cluster.text import read
from gpupool.cluster.units import parse_size

SKYNET = Path(__file__).parents[3] / "inventory" / "skynet"

LISTED_LABS = [
    "essa-lab",
    "hays-lab",
    "kira-lab",
    "hoffman-lab",
    "nlprx-lab",
    "ha-lab",
    "ei-lab",
    "rail-lab",
    "rehg-lab",
    "tail-lab",
    "rl2-lab",
    "ravichandar-lab",
    "wu-lab",
]
LABS = [*LISTED_LABS, "cvmlp-lab"]
FILESERVERS = [
    "multivac",
    "minivac",
    "microvac",
    "galactic-ac",
    "cosmic-ac",
    "universal-ac",
    "planetary-ac",
    "univac",
    "koto",
    "hflash1",
    "horizon",
    "nostalgia",
]
OPEN = ("debug", "short", "long", "user-overcap", "overcap")

SPACES = [
    ("SKY-056", "cvmlp-lab/share", "/coc/pskynet1", "multivac", "50T"),
    ("SKY-057", "cvmlp-lab/share2", "/coc/pskynet2", "multivac", "30T"),
    ("SKY-058", "cvmlp-lab/scratch", "/coc/scratch", "multivac", "60T"),
    ("SKY-059", "cvmlp-lab/flash1", "/coc/flash1", "universal-ac", "79T"),
    ("SKY-060", "essa-lab/share3", "/coc/pskynet3", "microvac", "27T"),
    ("SKY-061", "essa-lab/flash3", "/coc/flash3", "univac", "97T"),
    ("SKY-062", "hays-lab/share", "/coc/pskynet1", "multivac", "50T"),
    ("SKY-063", "hays-lab/share2", "/coc/pskynet2", "multivac", "30T"),
    ("SKY-064", "hays-lab/scratch", "/coc/scratch", "multivac", "60T"),
    ("SKY-065", "kira-lab/share4", "/coc/pskynet4", "galactic-ac", "194T"),
    ("SKY-066", "hoffman-lab/share4", "/coc/pskynet4", "galactic-ac", "194T"),
    ("SKY-067", "hoffman-lab/flash9", "/coc/flash9", "hflash1", "55T"),
    ("SKY-068", "nlprx-lab/share5", "/coc/pskynet5", "cosmic-ac", "70T"),
    ("SKY-069", "nlprx-lab/share6", "/coc/pskynet6", "koto", "127T"),
    ("SKY-070", "ha-lab/flash2", "/coc/flash2", "planetary-ac", "79T"),
    ("SKY-071", "tail-lab/flash10", "/coc/flash10", "nostalgia", "18T"),
    ("SKY-072", "rl2-lab/flash7", "/coc/flash7", "horizon", "35T"),
    ("SKY-073", "rl2-lab/flash8", "/coc/flash8", "horizon", "35T"),
    ("SKY-074", "wu-lab/flash12", "/coc/flash12", None, None),
]

# source and mount point as in the guide's `df`; df shows two of them slightly smaller than their nominal size
MOUNTS = [
    ("SKY-076", "multivac.cc.gatech.edu:/pskynet1", "/coc/pskynet1", 50),
    ("SKY-077", "multivac.cc.gatech.edu:/pskynet2", "/coc/pskynet2", 30),
    ("SKY-078", "microvac.cc.gatech.edu:/zfs/microvac-store3/pskynet3", "/coc/pskynet3", 27),
    ("SKY-079", "multivac.cc.gatech.edu:/export/scratch", "/coc/scratch", 59),
    ("SKY-080", "microvac.cc.gatech.edu:/zfs/microvac-store2/dataset", "/coc/dataset", 24),
    ("SKY-081", "galactic-ac.cc.gatech.edu:/zfs/data", "/coc/pskynet4", 194),
    ("SKY-082", "cosmic-ac.cc.gatech.edu:/zfs/cosmic-ac/project", "/coc/pskynet5", 70),
]

LINKS = {
    "datasets": "/coc/dataset",
    "scratch": "/coc/scratch",
    "share": "/coc/pskynet1",
    "share2": "/coc/pskynet2",
    "share3": "/coc/pskynet3",
    "share4": "/coc/pskynet4",
    "share5": "/coc/pskynet5",
    "testing": "/zfs/testshare",
}


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    inventory, complaints = validated(read(SKYNET).data)
    assert not complaints
    assert inventory is not None
    return inventory


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    loaded = examine(SKYNET)
    assert not loaded.errors
    assert loaded.cluster is not None
    return loaded.cluster


def entry(inventory: Inventory, name: str) -> NodeEntry:
    return next(node for node in inventory.nodes if node.name == name)


@pytest.mark.promise("SKY-005")
def test_totals(cluster: Cluster) -> None:
    compute = cluster.having("compute")
    assert len(compute) == 36
    assert sum(node.cpus for node in compute) == 2056
    assert cluster.total_gpus == 284


@pytest.mark.promise("SKY-003")
def test_the_typical_node(inventory: Inventory, cluster: Cluster) -> None:
    shape = inventory.hardware["chassis-28c"]
    assert (shape.cpus, shape.memory, shape.gpu_slots) == (56, parse_size("384G"), 8)
    counts = Counter(node.cpus for node in cluster.having("compute"))
    assert counts[56] > len(cluster.having("compute")) / 2
    assert {node.cpus for node in cluster.having("compute") if "a40" in node.gpus} == {128}


@pytest.mark.promise("SKY-199", "SKY-200")
def test_not_all_nodes_have_eight_gpus_and_56_or_128_cpus(cluster: Cluster) -> None:
    """The guide's two totals do not allow it, nor many A40 nodes: others exist, with fewer CPUs."""
    cpus, gpus = 2056, 284
    fits = [(a, (cpus - 56 * a) // 128) for a in range(cpus // 56 + 1) if (cpus - 56 * a) % 128 == 0]
    assert max(8 * (a + b) for a, b in fits) == 232 < gpus
    counts = Counter(node.cpus for node in cluster.having("compute"))
    assert counts[128] == 4
    assert set(counts) - {56, 128} == {24, 32}


@pytest.mark.promise("SKY-201")
def test_each_gpu_keeps_the_golden_ratio_of_cpus_and_on_an_a40_15(inventory: Inventory, cluster: Cluster) -> None:
    """The guide's newer ratio of 7 is accepted; reserved for each GPU, it would leave little to jobs without GPUs."""
    kept = {name: shape.cpus_kept_per_gpu for name, shape in inventory.hardware.items() if shape.gpu_slots}
    assert (kept["chassis-28c"], kept["a40-64c"]) == (6, 15)
    assert cluster.scheduler.warn_cpus_per_gpu == {"default": 7, "a40": 15}


@pytest.mark.promise("SKY-004", "SKY-189")
def test_gpu_types_are_features(inventory: Inventory, cluster: Cluster) -> None:
    assert set(inventory.gpu_types) == {"titan_x", "2080_ti", "rtx_6000", "a40"}
    assert {gpu for node in cluster.having("compute") for gpu in node.gpus} == set(inventory.gpu_types)
    assert all(node.features == tuple(node.gpus) for node in cluster.having("compute"))


@pytest.mark.promise("SKY-002", "SKY-006", "SKY-021", "SKY-022", "SKY-023", "SKY-025")
def test_infrastructure(cluster: Cluster) -> None:
    assert [node.name for node in cluster.having("head")] == ["sky1", "sky2"]
    assert [node.name for node in cluster.controllers] == ["marvin", "vicki"]
    assert cluster.database.name == "marvin"
    assert [node.name for node in cluster.having("web")] == ["optimus"]
    assert cluster.nodes["vicki"].has("compute")
    assert "rtx_6000" in cluster.nodes["clippy"].gpus


@pytest.mark.promise("SKY-196")
def test_sky2_is_a_head_like_sky1(cluster: Cluster) -> None:
    assert cluster.nodes["sky2"].roles == cluster.nodes["sky1"].roles
    assert cluster.nodes["sky2"].has("head")


@pytest.mark.promise("SKY-001")
def test_names_and_addresses(cluster: Cluster) -> None:
    network = ipaddress.ip_network(cluster.entry.network)
    addresses = [node.address for node in cluster.nodes.values()]
    assert all(node.fqdn == f"{node.name}.cc.gatech.edu" for node in cluster.nodes.values())
    assert all(address and ipaddress.ip_address(address) in network for address in addresses)
    assert len(set(addresses)) == len(addresses)


@pytest.mark.promise("SKY-014", "SKY-016")
@pytest.mark.parametrize(("name", "memory", "capacity"), [("multivac", "125G", "180T"), ("microvac", "256G", "160T")])
def test_two_fileservers_are_described_in_full(inventory: Inventory, name: str, memory: str, capacity: str) -> None:
    server = entry(inventory, name)
    shape = inventory.hardware[server.hardware or ""]
    assert (shape.cpus, shape.memory, server.capacity) == (40, parse_size(memory), parse_size(capacity))


@pytest.mark.promise("SKY-009")
def test_three_units_of_spinning_disks_are_described_in_full(inventory: Inventory) -> None:
    servers = [entry(inventory, name) for name in FILESERVERS]
    given = [server for server in servers if "capacity" not in (server.inferred or ())]
    assert [server.media for server in given] == ["hdd"] * 3
    assert all(parse_size("160T") <= (server.capacity or 0) <= parse_size("360T") for server in given)


@pytest.mark.promise("SKY-014")
def test_the_exports_of_multivac(inventory: Inventory) -> None:
    exports = [export for export in inventory.storage.exports.values() if export.server == "multivac"]
    assert sum(export.size or 0 for export in exports) == parse_size("140T")


@pytest.mark.promise("SKY-015")
def test_minivac_exports_nothing(inventory: Inventory) -> None:
    server = entry(inventory, "minivac")
    assert server.capacity == parse_size("360T")
    assert all(export.server != "minivac" for export in inventory.storage.exports.values())
    found = [complaint for complaint in examine(SKYNET).open if "minivac" in complaint.complaint.message]
    assert [complaint.complaint.severity for complaint in found] == ["warning"]


@pytest.mark.promise("SKY-017", "SKY-018", "SKY-019", "SKY-020", "SKY-024", "SKY-197")
def test_all_fileservers(inventory: Inventory, cluster: Cluster) -> None:
    assert [node.name for node in cluster.having("fileserver")] == FILESERVERS
    for name in ("universal-ac", "planetary-ac", "univac", "hflash1", "horizon", "nostalgia"):
        assert entry(inventory, name).media == "nvme"


@pytest.mark.promise("SKY-030", "SKY-031", "SKY-190")
def test_labs(inventory: Inventory) -> None:
    labs = {account.name: account for account in inventory.accounts if account.kind == "lab"}
    assert list(labs) == LABS
    assert [name for name, lab in labs.items() if not lab.listed] == ["cvmlp-lab"]
    assert all(lab.gid for lab in labs.values())


@pytest.mark.promise("SKY-032")
def test_all_users_are_in_overcap(cluster: Cluster) -> None:
    assert all(user.accounts == (user.account, "overcap") for user in cluster.users.values())


@pytest.mark.promise("SKY-033", "SKY-043")
@pytest.mark.parametrize("lab", LABS)
def test_each_lab_has_two_users_and_one_coordinator(cluster: Cluster, lab: str) -> None:
    assert len([user for user in cluster.users.values() if user.account == lab]) == 2
    assert len(cluster.accounts[lab].coordinators) == 1


@pytest.mark.promise("SKY-035", "SKY-037", "SKY-102")
def test_labs_own_shares_of_one_pool(cluster: Cluster) -> None:
    assert sum(cluster.accounts[lab].limits.group.gpu or 0 for lab in LABS) == cluster.total_gpus
    compute = {node.name for node in cluster.having("compute")}
    assert set(cluster.partitions) == {*OPEN, *LABS}
    assert all(set(partition.nodes) == compute for partition in cluster.partitions.values())


@pytest.mark.promise("SKY-119", "SKY-120")
@pytest.mark.parametrize("name", [*OPEN, *LABS])
def test_each_partition_admits_its_accounts(cluster: Cluster, name: str) -> None:
    partition = cluster.partitions[name]
    allowed = (name,) if name in (*LABS, "overcap") else ()
    assert partition.allow_accounts == allowed
    assert partition.deny_accounts == (() if allowed else ("overcap",))


@pytest.mark.promise("SKY-121", "SKY-124", "SKY-125", "SKY-127", "SKY-153", "SKY-154", "SKY-155", "SKY-156")
@pytest.mark.parametrize(
    ("name", "tier", "hours", "preemptable"),
    [
        ("debug", 100, 4, False),
        ("short", 80, 48, False),
        *((lab, 80, 168, False) for lab in LABS),
        ("long", 60, 168, False),
        ("user-overcap", 20, 48, True),
        ("overcap", 10, 48, True),
    ],
)
def test_tiers_and_times(cluster: Cluster, name: str, tier: int, hours: int, preemptable: bool) -> None:
    partition = cluster.partitions[name]
    assert (partition.entry.tier, partition.entry.max_time, partition.preemptable) == (tier, hours * 3600, preemptable)


@pytest.mark.promise("SKY-103", "SKY-153", "SKY-158", "SKY-208", "SKY-209")
def test_qos(inventory: Inventory, cluster: Cluster) -> None:
    walls = {name: qos.max_wall for name, qos in inventory.qos.items()}
    assert walls == {"normal": None, "short": 172800, "long": 604800, "debug": 14400, "cvmlp-user-limits": None}
    assert inventory.qos["debug"].limits.per_user.gpu == 5
    assert cluster.partitions["debug"].limits.per_user.gpu == 5
    assert inventory.qos["cvmlp-user-limits"].replaces == ("normal", "short", "long")
    limits = inventory.qos["cvmlp-user-limits"].limits.per_user
    assert (limits.gpu, limits.cpu) == (16, 112)
    special = {user.account for user in cluster.users.values() if cluster.qos_of(user.account) == "cvmlp-user-limits"}
    assert special == {"cvmlp-lab"}
    assert [partition.name for partition in cluster.partitions.values() if partition.entry.lifts_per_user] == [
        "user-overcap"
    ]


@pytest.mark.parametrize(
    ("space", "target", "server", "size"),
    [pytest.param(*row[1:], id=row[0], marks=pytest.mark.promise(row[0])) for row in SPACES],
)
def test_spaces(
    inventory: Inventory, cluster: Cluster, space: str, target: str, server: str | None, size: str | None
) -> None:
    assert cluster.links[f"/srv/{space}"] == target
    export = inventory.storage.exports[target.removeprefix("/coc/")]
    assert export.server == server
    assert export.size == (parse_size(size) if size else None)
    assert export.enabled is (server is not None)


@pytest.mark.promise("SKY-075", "SKY-191")
def test_there_are_no_other_spaces(inventory: Inventory) -> None:
    spaces = inventory.storage.spaces
    assert {f"{lab}/{space}" for lab, its in spaces.items() for space in its} == {row[1] for row in SPACES}
    assert [lab for lab, its in spaces.items() if not its] == ["ei-lab", "rail-lab", "rehg-lab", "ravichandar-lab"]


@pytest.mark.parametrize(
    ("source", "at", "terabytes"),
    [pytest.param(*row[1:], id=row[0], marks=pytest.mark.promise(row[0])) for row in MOUNTS],
)
def test_mounts(cluster: Cluster, source: str, at: str, terabytes: int) -> None:
    mount = next(mount for mount in cluster.mounts if mount.at == at)
    assert mount.source == source
    assert mount.entry.size == pytest.approx(parse_size(f"{terabytes}T"), rel=0.05)
    users = {node.name for node in cluster.having("head", "compute", "controller", "backup-controller", "web")}
    assert set(mount.nodes) == users


@pytest.mark.promise("SKY-193")
def test_the_share_is_mounted_under_the_name_of_df_and_not_the_guides_misspelling(cluster: Cluster) -> None:
    assert cluster.links["/srv/share"] == "/coc/pskynet1"
    assert not {link for link in (*cluster.links, *cluster.links.values()) if "psknet" in link or link == "/srv/share1"}


@pytest.mark.promise("SKY-204")
def test_the_memory_per_gpu_has_a_value(cluster: Cluster) -> None:
    """The guide's template leaves `<quota>` open: a job may request up to this, and eight such jobs fit on a node."""
    most = parse_size("44G")
    assert cluster.scheduler.max_memory.per_gpu == {"default": most}
    eight = [node for node in cluster.having("compute") if sum(node.gpus.values()) == 8]
    assert all(8 * most <= node.memory for node in eight)


@pytest.mark.promise("SKY-088")
def test_flash(cluster: Cluster) -> None:
    flash = {mount.at for mount in cluster.mounts if "flash" in mount.at}
    assert flash == {f"/coc/flash{number}" for number in (1, 2, 3, 7, 8, 9, 10)}


@pytest.mark.promise("SKY-053", "SKY-054", "SKY-198")
def test_homes_are_shared_but_not_on_fileservers(cluster: Cluster) -> None:
    mount = next(mount for mount in cluster.mounts if mount.at == "/nethome")
    assert not {node.name for node in cluster.having("fileserver")} & set(mount.nodes)
    assert {node.name for node in cluster.having("head", "compute", "web")} <= set(mount.nodes)
    assert cluster.users["u-kira1"].home == "/nethome/u-kira1"
    assert cluster.storage.home.quota == parse_size("30G")


@pytest.mark.promise("SKY-023")
def test_controllers_share_their_state(cluster: Cluster) -> None:
    mount = next(mount for mount in cluster.mounts if cluster.slurm.state.startswith(f"{mount.at}/"))
    assert set(mount.nodes) == {"marvin", "vicki"}


@pytest.mark.promise("SKY-086", "SKY-087", "SKY-192", "SKY-195")
def test_links(cluster: Cluster) -> None:
    flat = {link: target for link, target in cluster.links.items() if link.count("/") == 2}
    assert flat == {**{f"/srv/{name}": target for name, target in LINKS.items()}, "/srv/flash1": "/coc/flash1"}
    assert {node.name for node in cluster.having("compute", "head")} <= cluster.links_on


@pytest.mark.promise("SKY-094", "SKY-194")
def test_dataset_is_deprecated(inventory: Inventory) -> None:
    dataset = inventory.storage.exports["dataset"]
    assert (dataset.deprecated, dataset.profile, dataset.size) == (True, "read-optimized", parse_size("25T"))
    assert [key for key, export in inventory.storage.exports.items() if export.deprecated] == ["dataset"]


@pytest.mark.promise("SKY-012")
def test_every_entry_has_a_source_or_is_inferred(inventory: Inventory) -> None:
    for item in (*inventory.nodes, *inventory.accounts, *inventory.users, *inventory.partitions):
        assert item.src or item.inferred is True, item
        if isinstance(item.inferred, tuple):
            assert set(item.inferred) <= set(type(item).model_fields), item
    assert all(node.inferred is True or "address" in (node.inferred or ()) for node in inventory.nodes)


def test_the_testbed_has_one_node_of_each_kind(cluster: Cluster) -> None:
    nodes = [cluster.nodes[name] for name in cluster.testbed_nodes]
    assert {role for node in nodes for role in node.roles} == {
        role for node in cluster.nodes.values() for role in node.roles
    }
    assert {gpu for node in nodes for gpu in node.gpus} == {"titan_x", "2080_ti", "rtx_6000", "a40"}
