"""Defaults that follow from other parts of an inventory."""

from pathlib import Path

import pytest
from inventories import SMALL, STORED, changed
from jsonschema import Draft202012Validator

from gpupool.cli.schema import of_inventories
from gpupool.cluster.load import load
from gpupool.cluster.shape import validated


@pytest.mark.parametrize(
    ("scheduler", "default"),
    [("", True), ("default_partition: none, ", False), ("default_partition: all, ", True)],
)
def test_an_only_partition_is_the_default_one(scheduler: str, default: bool, tmp_path: Path) -> None:
    cluster = changed(STORED, tmp_path / "own", ("default_partition: all, ", scheduler))
    assert cluster.partitions["all"].default is default
    assert cluster.scheduler.default_partition == ("all" if default else "none")


def test_of_several_partitions_none_is_the_default_one(tmp_path: Path) -> None:
    more = "partitions:\n  - {name: more, nodes: '@compute', max_time: 1d}\n"
    cluster = changed(STORED, tmp_path / "own", ("default_partition: all, ", ""), ("partitions:\n", more))
    assert not any(partition.default for partition in cluster.partitions.values())


def test_heads_and_compute_nodes_mount_exports(tmp_path: Path) -> None:
    default = changed(STORED, tmp_path / "default", ('  mount_on: "@head,@compute"\n', ""))
    written, head_only = (
        load(STORED),
        changed(STORED, tmp_path / "head", ('mount_on: "@head,@compute"', 'mount_on: "@head"')),
    )
    assert (default.mounts, default.links_on) == (written.mounts, written.links_on)
    assert default.mounts != head_only.mounts


def test_a_node_with_hardware_is_a_compute_node(tmp_path: Path) -> None:
    cluster = changed(SMALL, tmp_path / "own", ("roles: [compute], hardware", "hardware"))
    assert cluster.nodes["gpu-2"].roles == ("compute",)


@pytest.mark.parametrize(
    ("node", "complete"),
    [
        ({"hardware": "box"}, True),
        ({"gpus": {"a40": 8}}, True),
        ({"roles": ["head"], "hardware": "box"}, True),
        ({"model": "R650"}, False),
    ],
)
def test_other_nodes_need_roles_and_editors_agree(node: dict[str, object], complete: bool) -> None:
    data = {"nodes": [{"name": "gpu-1", "address": "10.90.2.1", **node}]}
    _, complaints = validated(data)
    assert (("nodes", 0, "roles") in [complaint.path for complaint in complaints]) is not complete
    assert Draft202012Validator(of_inventories()).is_valid(data) is complete
