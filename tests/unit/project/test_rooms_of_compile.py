"""compile has one direction inside: slurm uses only compile's own modules, and system may use slurm."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import nodes

COMPILE = Path(__file__).parents[3] / "gpupool" / "compile"
SLURM = sorted((COMPILE / "slurm").rglob("*.py"))
#: The modules of compile itself that both rooms may use, and that use neither.
LOW = ("containers", "lua", "of_user", "programs", "template")


def imported(module: Path) -> Iterator[str]:
    """Yield the modules of compile that a module imports, `gpupool.compile.lua` for a name in `compile`, too."""
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gpupool.compile"):
            whole = node.module == "gpupool.compile"
            yield from (f"{node.module}.{alias.name}" for alias in node.names) if whole else (str(node.module),)


@pytest.mark.parametrize("module", SLURM, ids=lambda module: module.name)
def test_slurms_files_are_compiled_without_the_room_of_the_system(module: Path) -> None:
    allowed = ("gpupool.compile.slurm", *(f"gpupool.compile.{name}" for name in LOW))
    assert [name for name in imported(module) if not name.startswith(allowed)] == []


@pytest.mark.parametrize("name", LOW)
def test_a_module_for_both_rooms_uses_neither(name: str) -> None:
    rooms = ("gpupool.compile.slurm", "gpupool.compile.system")
    assert [other for other in imported(COMPILE / f"{name}.py") if other.startswith(rooms)] == []
