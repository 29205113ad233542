"""The target of a command."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY, SMALL, copied

from gpupool.errors import GpupoolError, InventoryError, TestbedError
from gpupool.target import find_target, find_testbed
from gpupool.testbed import state
from gpupool.testbed.container import shape
from gpupool.testbed.overlay import spec_of


@pytest.fixture
def own() -> Iterator[pytest.MonkeyPatch]:
    """Changes of these tests, which can be undone apart from those of the whole layer."""
    with pytest.MonkeyPatch.context() as changes:
        yield changes


@pytest.fixture(autouse=True)
def states(tmp_path: Path, own: pytest.MonkeyPatch) -> Path:
    own.setenv("XDG_STATE_HOME", str(tmp_path))
    own.delenv("GPUPOOL_TESTBED_PREFIX", raising=False)
    return tmp_path / "gpupool" / "testbeds"


def started(states: Path, id_: str = "gpupool-skynet", **changes: Any) -> Path:
    """Write the state of a testbed that was started here."""
    place = states / id_
    place.mkdir(parents=True)
    (place / "id_ed25519.pub").write_text("ssh-ed25519 AAAA testbed\n")
    state = {
        "id": id_,
        "name": "skynet",
        "prefix": "gpupool",
        "inventory": str(INVENTORY / "skynet"),
        "network": "10.66.0.0/16",
        "domain": "cc.gatech.edu",
        "suite": "trixie",
        "cgroups": "v1",
        "images": {},
        "nodes": {},
        "roles": {},
        "key": str(place / "id_ed25519"),
        "known_hosts": str(place / "known_hosts"),
        "ssh_config": str(place / "ssh_config"),
    }
    (place / "state.json").write_text(json.dumps({**state, **changes}))
    return place


def test_without_a_testbed_the_target_is_the_nodes() -> None:
    target = find_target(INVENTORY / "skynet")
    assert target.testbed is None
    assert target.where == "the nodes of skynet"
    assert target.ssh == {"ssh_user": "root", "ssh_port": 22}
    assert len(target.nodes) == 52
    assert not target.cluster.drivers.testbed


def test_with_a_testbed_it_is_the_target(states: Path) -> None:
    place = started(states)
    target = find_target(INVENTORY / "skynet")
    assert target.where == "testbed skynet (10 containers on this machine)"
    assert (target.cluster.drivers.gpu, target.cluster.drivers.cgroup) == ("fake", "v1")
    assert target.ssh["ssh_key"] == str(place / "id_ed25519")
    assert target.ssh["ssh_known_hosts_file"] == str(place / "known_hosts")
    assert all("ssh-ed25519 AAAA testbed" in user.entry.keys for user in target.cluster.users.values())
    data = target.data(target.nodes[0])
    assert data["ssh_hostname"] == target.nodes[0].address
    assert (data["cluster"], data["node"]) == (target.cluster, target.nodes[0])


def test_the_option_on_selects_the_target(states: Path) -> None:
    with pytest.raises(TestbedError, match=r"no testbed of .* on this machine"):
        find_target(INVENTORY / "skynet", "testbed")
    started(states)
    assert find_target(INVENTORY / "skynet", "nodes").testbed is None
    assert find_target(INVENTORY / "skynet", "testbed").testbed is not None
    assert find_target(INVENTORY / "skynet", "testbed:skynet").testbed is not None
    with pytest.raises(TestbedError):
        find_target(INVENTORY / "skynet", "testbed:other")


@pytest.mark.parametrize("on", ["here", "nodes:skynet", ""])
def test_another_value_of_on_is_refused(on: str) -> None:
    with pytest.raises(GpupoolError, match="must be auto, testbed, testbed:NAME or nodes"):
        find_target(INVENTORY / "skynet", on)


def test_the_testbed_of_another_inventory_is_not_the_target(states: Path) -> None:
    started(states, inventory=str(INVENTORY / "example"))
    assert find_target(INVENTORY / "skynet").testbed is None


def test_the_same_inventory_by_another_path_has_the_same_testbed(states: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another spelling of the path must not reach the real nodes by mistake."""
    started(states)
    monkeypatch.chdir(INVENTORY / "example")
    for path in ("../skynet", "../skynet/", "../example/../skynet", str(INVENTORY / "skynet")):
        assert find_testbed(Path(path)) is not None, path


def test_of_two_testbeds_the_last_one_started_is_the_target(states: Path) -> None:
    older, newer = started(states, "gpupool-a", name="a"), started(states, "gpupool-b", name="b")
    os.utime(older / "state.json", (1, 1))
    assert find_target(INVENTORY / "skynet").where.startswith("testbed b ")
    os.utime(newer / "state.json", (0, 0))
    assert find_target(INVENTORY / "skynet").where.startswith("testbed a ")


def test_addresses_of_a_testbed_are_in_its_network(states: Path) -> None:
    started(states, network="10.166.0.0/16")
    target = find_target(INVENTORY / "skynet")
    assert all((node.address or "").startswith("10.166.") for node in target.nodes)


def test_a_testbed_without_its_key_names_the_command_that_restores_it(states: Path) -> None:
    (started(states) / "id_ed25519.pub").unlink()
    with pytest.raises(TestbedError, match="gpupool testbed up"):
        find_target(INVENTORY / "skynet")


def test_an_invalid_inventory_has_no_target(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="no such file or folder"):
        find_target(tmp_path / "nowhere")


def test_the_login_of_the_admin_comes_from_the_inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/admin")
    admin = "admin: {user: ops, port: 2222, key: ~/.ssh/pool}"
    target = find_target(copied(SMALL, tmp_path, ("keys: homes", f"keys: homes, {admin}")))
    assert target.ssh == {"ssh_user": "ops", "ssh_port": 2222, "ssh_key": "/home/admin/.ssh/pool"}


def test_unmanaged_nodes_are_left_alone() -> None:
    target = find_target(INVENTORY / "aau-ai-cloud", "nodes")
    assert [node.name for node in target.nodes] == ["ai-pilot", "nv-ai-01", "nv-ai-03"]


def test_tests_of_this_layer_see_no_testbed_of_the_developer(states: Path, own: pytest.MonkeyPatch) -> None:
    started(states)
    assert find_target(INVENTORY / "skynet").testbed
    own.undo()
    assert find_target(INVENTORY / "skynet").testbed is None


def test_no_command_turns_to_real_nodes_after_a_testbed(states: Path) -> None:
    """Its testbed was removed, or could not be started."""
    started(states)
    state.note_tried(INVENTORY / "skynet")
    assert find_target(INVENTORY / "skynet").testbed
    state.forget("gpupool-skynet")
    with pytest.raises(TestbedError, match=r"`gpupool testbed up .*skynet`, or use --on nodes for the real nodes"):
        find_target(INVENTORY / "example" / ".." / "skynet")
    assert find_target(INVENTORY / "skynet", "nodes").testbed is None
    assert find_target(INVENTORY / "example").testbed is None, "another inventory"


def test_an_unreadable_state_of_a_testbed_leads_to_no_real_node(states: Path) -> None:
    (started(states) / "state.json").write_text("{")
    state.note_tried(INVENTORY / "skynet")
    with pytest.raises(TestbedError, match="--on nodes"):
        find_target(INVENTORY / "skynet")


def test_nodes_of_a_testbed_that_is_older_than_the_inventory_are_named(states: Path, tmp_path: Path) -> None:
    """Apply cannot give a container another mount or GPU."""
    site = copied(INVENTORY / "skynet", tmp_path / "site")
    kept = started(states, inventory=str(site)) / "state.json"
    assert find_target(site).outdated == (), "a testbed of an older version has no shapes"
    spec = spec_of(find_target(site).cluster)
    shapes = {box.name: shape(spec, box) for box in spec.containers if box.name != "sky2"}
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "shapes": shapes}))
    assert find_target(site).outdated == ("sky2",)
    copied(INVENTORY / "skynet", site, ("{name: marvin, address: 10.66.2.1,", "{name: marvin, address: 10.66.2.9,"))
    assert find_target(site).outdated == ("sky2", "marvin")
