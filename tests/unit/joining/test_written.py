"""The inventory after a join: several nodes are one entry, totals are updated, and the rest keeps its meaning."""

from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path

import pytest
from inventories import SMALL, STORED, copied

from gpupool.cluster import load as cluster_load
from gpupool.cluster.complaints import BadInventoryError
from gpupool.cluster.edit import files
from gpupool.cluster.load import load
from gpupool.cluster.text import Text
from gpupool.compile.system.exports import exports_for
from gpupool.errors import GpupoolError, UsageError
from gpupool.joining import written
from gpupool.joining.decide import Choice
from gpupool.joining.other_nodes import concerned, later
from gpupool.joining.request import further_of

TOTALS = ("network: 10.90.0.0/16}", "network: 10.90.0.0/16, totals: {gpus: 16, cpus: 128}}")
NEW = {"gpu-3": "10.90.2.3", "gpu-4": "10.90.2.4"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return copied(SMALL, tmp_path / "site", TOTALS)


def text(site: Path) -> str:
    return "".join(file.read_text() for file in sorted(site.glob("*.yml")))


def test_identical_nodes_share_an_entry_and_leave_no_trace(site: Path) -> None:
    before = text(site)
    made = written.with_nodes(written.read_original(site), NEW, dict.fromkeys(NEW, Choice("box", None, {"a40": 8})))
    assert text(site) == before
    made.draft.write()
    entry = '- {name: "gpu-[3-4]", address: "10.90.2.[3-4]", roles: [compute], hardware: box, gpus: {a40: 8}}'
    assert entry in text(site)
    assert "totals: {gpus: 32, cpus: 256}" in text(site)
    written.without_nodes(written.read_original(site), list(NEW)).draft.write()
    assert text(site) == before


def test_new_hardware_is_written_after_the_others(site: Path) -> None:
    made = written.with_nodes(
        written.read_original(site),
        {"new": "10.90.2.9"},
        {"new": Choice("own", {"cpus": 4, "real_memory": "16000M"}, {})},
    )
    assert made.cluster.nodes["new"].memory == 16000


def test_other_gpus_in_one_node_of_a_range_split_the_range(site: Path) -> None:
    made = written.renewed(
        written.read_original(site), {"gpu-2": "10.90.2.2"}, {"gpu-2": Choice("box", None, {"a40": 8})}
    )
    assert not made.draft.changed
    tall = {"cpus": 128, "real_memory": "515000M", "gpu_slots": 8, "cpus_kept_per_gpu": 6}
    made = written.renewed(
        written.read_original(site), {"gpu-2": "10.90.2.2"}, {"gpu-2": Choice("tall", tall, {"a40": 8})}
    )
    assert {name: node.cpus for name, node in made.cluster.nodes.items() if node.gpus} == {
        "gpu-1": 64,
        "gpu-2": 128,
    }


def test_new_nodes_have_addresses_in_further_networks(tmp_path: Path) -> None:
    networks = ("network: 10.90.0.0/16}", "network: 10.90.0.0/16, networks: {fabric: 10.91.0.0/16}}")
    site = copied(SMALL, tmp_path / "networks", networks)
    further = further_of(["fabric=10.91.2.[3-4]"], list(NEW))
    choices = dict.fromkeys(NEW, Choice("box", None, {"a40": 8}))
    written.with_nodes(written.read_original(site), NEW, choices, further).draft.write()
    assert 'address: "10.90.2.[3-4]", addresses: {fabric: "10.91.2.[3-4]"}, roles: [compute]' in text(site)
    assert load(site).nodes["gpu-4"].addresses == {"fabric": "10.91.2.4"}


@pytest.mark.parametrize("word", ["fabric", "fabric=", "=10.91.2.3", "fabric=10.91.2.3", "fabric=10.91.2.[255-256]"])
def test_each_new_node_needs_an_ipv4_address_in_the_network(word: str) -> None:
    with pytest.raises(UsageError):
        further_of([word], list(NEW))


def test_a_node_that_leaves_its_range_keeps_its_addresses_in_further_networks(tmp_path: Path) -> None:
    networks = ("network: 10.90.0.0/16}", "network: 10.90.0.0/16, networks: {fabric: 10.91.0.0/16}}")
    further = ('address: "10.90.2.[1-2]"', 'address: "10.90.2.[1-2]", addresses: {fabric: "10.91.2.[1-2]"}')
    original = written.read_original(copied(SMALL, tmp_path / "networks", networks, further))
    made = written.renewed(original, {"gpu-2": "10.90.2.9"}, {"gpu-2": Choice("box", None, {"a40": 8})})
    addresses = {name: (node.address, node.addresses.get("fabric")) for name, node in made.cluster.nodes.items()}
    assert addresses == {
        "ctl": ("10.90.1.1", None),
        "gpu-1": ("10.90.2.1", "10.91.2.1"),
        "gpu-2": ("10.90.2.9", "10.91.2.2"),
    }


def test_a_node_is_not_retired_if_a_lab_would_own_more_than_the_rest(site: Path) -> None:
    with pytest.raises(BadInventoryError, match=r"lower 10 of red and 6 of blue by 8 in sum"):
        written.without_nodes(written.read_original(site), ["gpu-1"])


def test_the_entry_of_a_broken_node_leaves_with_it(tmp_path: Path) -> None:
    broken = ("qos:", "out_of_service:\n  - {nodes: gpu-2, gpus: [1], reason: a fan is broken}\nqos:")
    folder = copied(SMALL, tmp_path / "broken", TOTALS, broken)
    added = written.with_nodes(written.read_original(folder), NEW, dict.fromkeys(NEW, Choice("box", None, {"a40": 8})))
    added.draft.write()
    made = written.without_nodes(written.read_original(folder), ["gpu-2"])
    made.draft.write()
    assert "gpu-2" not in load(folder).nodes
    assert "out_of_service: []" in text(folder)


def test_an_interrupted_write_is_completed_by_the_next_command(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = site / "nodes.yml"
    whole = next(site.glob("*.yml"))
    parts = whole.read_text().partition("gpu_types:")
    whole.write_text(parts[0])
    nodes.write_text(parts[1] + parts[2])
    made = written.with_nodes(written.read_original(site), NEW, dict.fromkeys(NEW, Choice("box", None, {"a40": 8})))
    assert len(made.draft.changed) == 2
    put = files._put

    def killed(file: Path, text: str, mode: int | None = None) -> None:
        if file == list(made.draft.changed)[-1]:
            raise KeyboardInterrupt
        put(file, text, mode)

    monkeypatch.setattr(files, "_put", killed)
    with pytest.raises(KeyboardInterrupt):
        made.draft.write()
    monkeypatch.undo()
    with pytest.raises(BadInventoryError):
        load(site)
    assert {*NEW} <= {*written.read_original(site).addresses}
    assert sorted(path.suffix for path in site.iterdir()) == [".yml"] * len(list(site.glob("*.yml")))


def test_a_file_that_was_changed_meanwhile_is_not_overwritten(site: Path) -> None:
    made = written.with_nodes(written.read_original(site), NEW, dict.fromkeys(NEW, Choice("box", None, {"a40": 8})))
    file = next(iter(made.draft.changed))
    file.write_text(file.read_text() + "# mine\n")
    with pytest.raises(GpupoolError, match="was changed meanwhile"):
        made.draft.write()


def test_a_new_node_changes_only_controllers_and_servers_that_export_to_addresses(site: Path) -> None:
    before = written.read_original(site)
    after = written.with_nodes(before, NEW, dict.fromkeys(NEW, Choice("box", None, {"a40": 8}))).cluster
    assert concerned(before.cluster, after) == ("ctl",)
    assert later(before.cluster, after, {"ctl", *NEW}) == {"/etc/hosts": 2}


def test_an_inventory_is_loaded_once_and_each_changed_text_once_more(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[bool] = []

    def read(inventory: Path, instead: Mapping[Path, str] | None = None) -> Text:
        loads.append(bool(instead))
        return real(inventory, instead)

    real = cluster_load.read
    monkeypatch.setattr(cluster_load, "read", read)
    original = written.read_original(site)
    choice = Choice("box", None, {"a40": 8})
    written.with_nodes(original, NEW, dict.fromkeys(NEW, choice))
    assert loads == [False, True]
    written.renewed(original, {"gpu-2": "10.90.2.2"}, {"gpu-2": choice})
    written.with_nodes(original, {}, {})
    assert loads == [False, True], "nothing changes, and nothing is read"


def test_servers_whose_exports_have_the_nodes_address_are_changed(tmp_path: Path) -> None:
    site = copied(STORED, tmp_path / "stored")
    original = written.read_original(site)
    like = original.cluster.having("compute")[0]
    choice = Choice(original.entries[like.name].hardware, None, dict(like.gpus))
    network = ip_network(original.cluster.entry.network)
    new = {"new-1": str(network.broadcast_address - 9)}
    after = written.with_nodes(original, new, {"new-1": choice}).cluster
    servers = {
        name
        for name in {mount.server for mount in original.cluster.mounts} & {*original.cluster.nodes}
        if exports_for(original.cluster, original.cluster.nodes[name]) != exports_for(after, after.nodes[name])
    }
    assert servers
    first = original.cluster.controllers[0].name
    assert {*concerned(original.cluster, after)} == {first, *servers}
    assert {*concerned(original.cluster, original.cluster)} == {first}


def test_nodes_with_other_gpus_have_separate_entries(site: Path) -> None:
    choices = {"gpu-3": Choice("box", None, {"a40": 8}), "gpu-4": Choice("box", None, {"a40": 4})}
    made = written.with_nodes(written.read_original(site), NEW, choices)
    assert {name: made.cluster.nodes[name].gpu_count for name in NEW} == {"gpu-3": 8, "gpu-4": 4}


def test_a_renewed_node_keeps_its_own_keys_of_hardware_unless_it_gets_another(tmp_path: Path) -> None:
    own = ("roles: [compute], hardware: box", "cpus: 64, memory: 512G, cpus_kept_per_gpu: 6")
    site = copied(SMALL, tmp_path / "own", own)
    original = written.read_original(site)
    moved = {"gpu-2": "10.90.2.9"}
    same = Choice(original.entries["gpu-2"].hardware, None, {"a40": 8})
    made = written.renewed(original, moved, {"gpu-2": same})
    made.draft.write()
    row = "address: 10.90.2.9, cpus: 64, memory: 512G, cpus_kept_per_gpu: 6, gpus: {a40: 8}}"
    assert f"- {{name: gpu-2, {row}" in text(site)
    made = written.renewed(written.read_original(site), moved, {"gpu-2": Choice("box", None, {"a40": 8})})
    made.draft.write()
    assert "- {name: gpu-2, address: 10.90.2.9, hardware: box, gpus: {a40: 8}}" in text(site)
