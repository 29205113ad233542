"""The page on upgrades: its pin is the tested one, and its inventory on the way to Debian 13 is valid."""

import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from inventories import SMALL

from gpupool.cluster.load import load
from gpupool.errors import InventoryError
from gpupool.slurm.nodes import reason_of
from gpupool.slurm.upgrades import hops

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/upgrade.md").read_text()
WAY = PAGE.partition("## From Debian 12 to Debian 13")[2].partition("\n## ")[0]
WARNING = "releases-of-slurm-work-together"


def shown() -> dict[str, Any]:
    """Return the part of the inventory that the page shows."""
    block = re.search(r"(?m)^        software: .*\n(?:        .*\n)+", WAY)
    assert block
    return dict(yaml.safe_load(dedent(block[0])))


def written(folder: Path, part: dict[str, Any]) -> Path:
    """Write the small inventory with a part of it replaced."""
    inventory = yaml.safe_load((SMALL / "inventory.yml").read_text())
    inventory["access"]["compute_ssh"] = "none"
    accepted = [*inventory["accepted_warnings"], *part.get("accepted_warnings", [])]
    (folder / "inventory.yml").write_text(yaml.safe_dump({**inventory, **part, "accepted_warnings": accepted}))
    return folder


def test_nodes_of_both_systems_are_valid_on_the_way(tmp_path: Path, gpupool: Callable[..., Any]) -> None:
    part = shown()
    assert [entry["warning"] for entry in part["accepted_warnings"]] == [WARNING]
    assert "no errors" in gpupool("check", str(written(tmp_path, part))).out
    del part["accepted_warnings"]
    assert "nodes[2].distribution: gpu-2 would have Slurm 24.11" in gpupool("check", str(written(tmp_path, part))).out


def test_without_the_version_the_mix_is_refused(tmp_path: Path) -> None:
    part = shown()
    del part["slurm"]["version"], part["accepted_warnings"]
    with pytest.raises(InventoryError, match="does not work with slurmctld"):
        load(written(tmp_path, part))


def test_the_releases_on_the_way_are_those_of_the_table() -> None:
    assert re.findall(r'slurm\.version: "(.*)"', WAY) == [*hops("22.05", "24.11")]


def test_the_drain_is_that_of_onboard() -> None:
    (why,) = re.findall(r"reason='(.*)'", WAY)
    assert why.startswith(reason_of("onboarding"))


def test_the_pins_are_those_of_the_test_that_upgrades() -> None:
    pins = re.findall(r"(?m)^ *(Package: .*)\n *(Pin: .*)\n *(Pin-Priority: .*)$", PAGE)
    tested = (ROOT / "tests/day2/upgrade_suite.sh").read_text()
    assert len(pins) == 2
    assert all("\n".join(pin) in tested for pin in pins)
