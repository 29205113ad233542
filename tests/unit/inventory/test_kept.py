"""Inventories of former versions: `check` accepts them, and each key that goes is named with its replacement.

`kept/VERSION` has the example of each minor version that the present one promises to accept (docs/stability.md).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpupool.cluster.load import examine

KEPT = Path(__file__).parent / "kept"
VERSIONS = sorted(folder.name for folder in KEPT.iterdir())


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_accepted_and_keys_that_go_have_a_replacement(version: str) -> None:
    loaded = examine(KEPT / version)
    assert [str(located) for located in loaded.errors] == []
    assert loaded.cluster is not None
    warnings = [located.complaint for located in loaded.open if located.complaint.severity == "warning"]
    assert {complaint.code for complaint in warnings} <= {"keys-are-current"}
    assert [complaint for complaint in warnings if complaint.hint is None] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_rehearsal_finds_its_promises(gpupool: Callable[..., Any], version: str) -> None:
    done = gpupool("rehearse", KEPT / version, "--list", "--only", "debug-goes-first")
    assert done.code == 0, done.err
