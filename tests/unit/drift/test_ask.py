"""GPUs in hardware compared with those of the inventory, by their device files."""

from dataclasses import replace

import pytest
from inventories import SMALL, cluster_at

from gpupool.drift.ask import _hardware
from gpupool.programs.drift.difference import Difference

NODE = cluster_at(SMALL).nodes["gpu-1"]
ALL = [f"/dev/nvidia{number}" for number in range(8)]


@pytest.mark.parametrize(
    ("there", "live"),
    [
        (ALL, []),
        (ALL[:-1], ["without /dev/nvidia7"]),
        ([*ALL, "/dev/nvidia8"], ["/dev/nvidia8 beside them"]),
        ([], [f"without {', '.join(ALL)}"]),
    ],
)
def test_gpus_are_counted_by_their_device_files(there: list[str], live: list[str]) -> None:
    assert [difference.live for difference in _hardware(NODE, [], there)] == live


def test_the_device_file_of_a_gpu_out_of_service_may_exist_or_not() -> None:
    left = replace(NODE, devices=NODE.devices[:-1], installed=NODE.devices)
    assert _hardware(left, [], ALL) == _hardware(left, [], ALL[:-1]) == []
    assert [row.live for row in _hardware(left, [], ALL[1:])] == ["without /dev/nvidia0"]


def test_a_missing_fake_gpu_is_one_row() -> None:
    known = [Difference("gpu-1", "hardware", "/dev/nvidia7", "", "", "", "")]
    assert _hardware(NODE, known, ALL[:-1]) == []


def test_a_node_without_devices_has_no_row() -> None:
    assert _hardware(replace(NODE, devices=()), [], ALL) == []
