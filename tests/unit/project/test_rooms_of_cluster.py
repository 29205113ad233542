"""gpupool/cluster has layers: text, schema, resolved values (resolve), then checks and the Cluster, then load."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import nodes

ROOT = Path(__file__).parents[3]
CLUSTER = ROOT / "gpupool" / "cluster"
#: Rooms of gpupool.cluster, and the rooms that each may not import.
ABOVE = {
    "schema": ("resolve", "checks", "build", "model", "load", "explain"),
    "resolve": ("checks", "build", "model", "load", "explain"),
    "checks": ("build", "model", "load", "explain"),
    "model": ("resolve", "checks", "build", "load", "explain"),
    "build": ("checks", "load", "explain"),
    "explain": ("checks", "build"),
}


def modules(room: str) -> list[Path]:
    file = CLUSTER / f"{room}.py"
    return [file] if file.exists() else sorted((CLUSTER / room).rglob("*.py"))


def imported(module: Path) -> Iterator[str]:
    """Yield the full name of each module that a module imports, and of each name imported from a package."""
    for node in nodes(module):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(package), names=names):
                yield from (f"{package}.{alias.name}" for alias in names)


def is_in(name: str, room: str) -> bool:
    return f"{name}.".startswith(f"gpupool.cluster.{room}.")


@pytest.mark.parametrize("room", ABOVE)
def test_a_room_imports_no_room_above_it(room: str) -> None:
    assert modules(room) != []
    upwards = [
        f"{module.relative_to(ROOT)}: {name}"
        for module in modules(room)
        for name in imported(module)
        if any(is_in(name, above) for above in ABOVE[room])
    ]
    assert upwards == []


def test_modules_that_resolve_values_make_no_complaints() -> None:
    named = [
        str(module.relative_to(ROOT))
        for module in modules("resolve")
        if "gpupool.cluster.complaints.Complaint" in imported(module)
    ]
    assert named == []


def test_only_load_runs_checks() -> None:
    runs = [
        str(module.relative_to(ROOT))
        for module in sorted((ROOT / "gpupool").rglob("*.py"))
        if not module.is_relative_to(CLUSTER / "checks") and any(is_in(name, "checks") for name in imported(module))
    ]
    assert runs == ["gpupool/cluster/load.py"]
