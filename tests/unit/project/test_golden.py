"""What machines of the inventories get is kept here: a change of it is seen in the change that makes it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden
import pytest


@pytest.mark.parametrize("inventory", golden.INVENTORIES)
def test_an_inventory_renders_what_the_repository_keeps(
    inventory: str, gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    said = gpupool("render", f"inventory/{inventory}")
    assert golden.shortened(said.out) == golden.kept(inventory).read_text(), "if that is meant: script/docs"
