"""A command line without an inventory uses the current folder, or GPUPOOL_INVENTORY."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY

SKYNET = "skynet: 52 nodes, 36 of them compute: 284 GPUs, 2056 CPUs; 14 labs, 19 partitions"
EXAMPLE = "example: 6 nodes, 3 of them compute: 8 GPUs, 96 CPUs; 2 labs, 5 partitions"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPUPOOL_INVENTORY", raising=False)
    return tmp_path


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, elsewhere: Path) -> None:
    """Work in the example's folder."""
    monkeypatch.chdir(INVENTORY / "example")


def test_the_current_folder_is_used_if_it_is_an_inventory(gpupool: Callable[..., Any], inside: None) -> None:
    done = gpupool("check")
    assert (done.code, done.out.splitlines()[-1], done.err) == (0, EXAMPLE, "")
    assert gpupool("check", "../skynet").out.splitlines()[-1] == SKYNET


def test_a_single_file_named_inventory_yml_makes_a_folder_an_inventory(
    gpupool: Callable[..., Any], elsewhere: Path
) -> None:
    (elsewhere / "inventory.yml").write_text("cluster: {nmae: x}\n")
    done = gpupool("check")
    assert done.code == 2
    assert "inventory.yml:1: error: cluster.nmae: unknown key" in done.out


def test_the_variable_names_the_inventory_and_the_output_says_so(
    gpupool: Callable[..., Any], elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUPOOL_INVENTORY", str(INVENTORY / "example"))
    done = gpupool("check")
    assert (done.code, done.out.splitlines()[-1]) == (0, EXAMPLE)
    assert done.err == f"inventory: {INVENTORY / 'example'} (GPUPOOL_INVENTORY)\n"
    assert gpupool("check", INVENTORY / "skynet").err == ""


def test_an_argument_wins_over_the_variable(
    gpupool: Callable[..., Any], elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUPOOL_INVENTORY", str(INVENTORY / "example"))
    assert gpupool("check", INVENTORY / "skynet").out.splitlines()[-1] == SKYNET


def test_folder_and_variable_that_differ_are_refused(
    gpupool: Callable[..., Any], inside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUPOOL_INVENTORY", "../skynet")
    done = gpupool("apply", "--yes")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "GPUPOOL_INVENTORY is ../skynet, and the current folder is another inventory: name the inventory to use "
        "(. is the current folder)\n"
    )
    assert gpupool("check", ".").out.splitlines()[-1] == EXAMPLE
    assert gpupool("check", "--help").code == 0
    monkeypatch.setenv("GPUPOOL_INVENTORY", str(Path.cwd()))
    assert gpupool("check").out.splitlines()[-1] == EXAMPLE


@pytest.mark.parametrize("line", ["check", "plan --json", "explain", "testbed status", "apply --yes"])
def test_without_any_inventory_the_error_names_all_ways(
    gpupool: Callable[..., Any], elsewhere: Path, line: str
) -> None:
    done = gpupool(*line.split())
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "no inventory: name its folder, set GPUPOOL_INVENTORY, or run this in a folder with cluster.yml or "
        "inventory.yml\n"
    )


def test_other_words_stay_in_their_places(gpupool: Callable[..., Any], inside: None) -> None:
    assert gpupool("explain", "short", "max_time").out == gpupool("explain", ".", "short", "max_time").out != ""
    assert gpupool("render", "control", "--file", "slurm.conf").out.startswith("==> control:/etc/slurm/slurm.conf")
    assert "==> control:" in gpupool("render", "--file", "slurm.conf").out


@pytest.mark.parametrize("line", ["check exmaple", "render exmaple a40-01", "explain ../exmaple short"])
def test_a_misspelt_inventory_is_not_replaced_by_the_default(
    gpupool: Callable[..., Any], inside: None, line: str
) -> None:
    done = gpupool(*line.split())
    assert done.code == 2
    assert "exmaple" in done.out + done.err
    assert "there is no such file or folder" in done.out + done.err


def test_nodes_of_the_default_inventory_are_completed(
    gpupool: Callable[..., Any], inside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_GPUPOOL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "gpupool\nplan\n--limit\nrtx")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert gpupool().out.split() == ["rtx-01", "rtx-02"]
    monkeypatch.setenv("GPUPOOL_INVENTORY", "../skynet")
    assert gpupool().out.split() == []
