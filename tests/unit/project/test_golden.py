"""The files of nodes are kept in the repository, so that a commit shows every change of them."""

from collections.abc import Callable
from typing import Any

import golden
import golden_releases
import pytest

MEANT = "if that is meant: script/docs"


@pytest.mark.parametrize("inventory", golden.INVENTORIES)
def test_an_inventory_renders_the_files_in_the_repository(inventory: str, gpupool: Callable[..., Any]) -> None:
    printed = gpupool("render", golden.INVENTORIES[inventory]).out
    rendered, kept = golden.shown(inventory, printed), golden.kept(inventory)
    assert sorted(rendered) == sorted(kept), MEANT
    changed = [name for name in kept if rendered[name] != kept[name]]
    assert {name: rendered[name] for name in changed} == {name: kept[name] for name in changed}, MEANT


def test_each_release_of_slurm_changes_the_files_of_the_example_as_in_the_repository() -> None:
    assert golden_releases.shown() == golden_releases.kept(), MEANT
