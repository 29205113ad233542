"""Spare nodes of a testbed, and the nodes that have joined the inventory since."""

from pathlib import Path

import pytest
from inventories import INVENTORY, changed, cluster_at

from gpupool.cli.testbed import wanted
from gpupool.errors import TestbedError, UsageError
from gpupool.testbed.container import shape
from gpupool.testbed.overlay import spec_of, stand_in
from gpupool.testbed.spares import with_joined, with_spares

EXAMPLE = INVENTORY / "example"
SPARE = {"rtx-03": "10.71.11.3"}


@pytest.fixture(autouse=True)
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_spare_node_is_plain_debian_with_the_devices_of_a_compute_node() -> None:
    spec, _ = wanted(EXAMPLE, name=None, prefix="gpupool", network="10.166.0.0/16", spares=SPARE)
    *boxes, spare = spec.containers
    assert (spare.name, spare.address, spare.hostname) == ("rtx-03", "10.166.11.3", "rtx-03.example.org")
    assert (spare.packages, spare.roles, spare.gpus) == ((), (), boxes[-1].gpus)
    assert spec.spares == SPARE


def test_a_node_that_has_joined_keeps_its_container(tmp_path: Path) -> None:
    """testbed.nodes does not name it; up neither recreates nor loses it."""
    before, _ = wanted(EXAMPLE, name=None, prefix="gpupool", network=None, spares=SPARE)
    nodes = (
        ('name: "rtx-[01-02]"', 'name: "rtx-[01-03]"'),
        ('"10.71.11.[1-2]"', '"10.71.11.[1-3]"'),
        ("cpus: 96", "cpus: 112"),
        ("gpus: 8", "gpus: 10"),
    )
    cluster = with_joined(changed(EXAMPLE, tmp_path / "site", *nodes), SPARE)
    spec = spec_of(stand_in(cluster, cgroup="v2"))
    after = with_spares(spec, SPARE, "10.71.0.0/16")
    assert [box.name for box in after.containers] == [box.name for box in before.containers]
    assert shape(after, after.containers[-1]) == shape(before, before.containers[-1])
    assert "compute" in after.containers[-1].roles


def test_a_spare_node_cannot_be_in_the_inventory_or_without_an_example() -> None:
    with pytest.raises(UsageError, match=r"rtx-02: already in the inventory \(add it to testbed.nodes\)"):
        wanted(EXAMPLE, name=None, prefix="gpupool", network=None, spares={"rtx-02": "10.71.11.2"})
    machines = stand_in(cluster_at(EXAMPLE), cgroup="v2", machines=("a40-01", "rtx-01"))
    with pytest.raises(TestbedError, match="no container with the role compute"):
        with_spares(spec_of(machines), SPARE, "10.71.0.0/16")
