"""Defaults that follow from other parts of an inventory."""

from pathlib import Path

import pytest
from inventories import STORED, changed


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
