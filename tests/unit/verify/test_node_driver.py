"""The complaints of the checks about a faulty driver."""

from types import SimpleNamespace
from typing import Any

import inventories
import pytest
from inventories import cluster_at

from gpupool.compile.system.driver import CHECK, driver_for
from gpupool.facts.script import END
from gpupool.node.look import Item
from gpupool.verify import test_node_driver
from gpupool.verify.looks import NodeLook

EXAMPLE = cluster_at(inventories.INVENTORY / "example")
NODE = EXAMPLE.nodes["a40-01"]
RIGHT = "550.163.01-2"


def look(*lines: str, version: str = RIGHT, hold: str = "h") -> None:
    """Check a node with packages of a version, and with these additional lines."""
    wanted = driver_for(EXAMPLE, NODE)
    assert wanted
    packages = [f"P\t{hold}i \t{name}\t{version}" for name in wanted.held]
    text = "\n".join([*packages, *lines, END])
    host: Any = SimpleNamespace(run=lambda command: SimpleNamespace(stdout=text))
    test_node_driver.test_the_wanted_driver_is_installed_and_loaded(EXAMPLE, NODE, host)


def test_a_driver_that_is_loaded_as_installed_passes() -> None:
    look("M\t550.163.01")


@pytest.mark.parametrize(
    ("lines", "version", "hold", "why"),
    [
        (["M\t535.261.03"], RIGHT, "h", r"535.261.03 is loaded, 550.163.01 is installed \(reboot the node"),
        ([], RIGHT, "h", "driver none is loaded"),
        (["M\t550.163.01"], "535.261.03-1", "h", r"wanted is 550.\*: nvidia-kernel-dkms is 535.261.03-1"),
        (["M\t550.163.01"], RIGHT, "i", "an upgrade of the system would change the driver: nvidia-kernel-dkms"),
    ],
)
def test_another_driver_is_named(lines: list[str], version: str, hold: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        look(*lines, version=version, hold=hold)


@pytest.mark.parametrize(
    ("checks", "message"),
    [((Item("gpus", CHECK, "1 of 4 a40 missing"),), "1 of 4 a40 missing"), ((), f"{CHECK} is missing")],
)
def test_wrong_gpus_are_named_in_slurms_words(checks: tuple[Item, ...], message: str) -> None:
    with pytest.raises(AssertionError, match=f"^{message}"):
        test_node_driver.test_gpus_are_those_of_the_inventory(EXAMPLE, NODE, NodeLook("", checks, ()))


def test_gpus_that_pass_their_check_are_right() -> None:
    test_node_driver.test_gpus_are_those_of_the_inventory(EXAMPLE, NODE, NodeLook("", (Item("gpus", CHECK),), ()))
