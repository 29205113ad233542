"""Slurm's notation has one place, gpupool/slurm: no other module parses or writes it."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import nodes

ROOT = Path(__file__).parents[3]
GPUPOOL = ROOT / "gpupool"
SLURM = GPUPOOL / "slurm"
NODE = GPUPOOL / "node"
LINKS = {path for path in GPUPOOL.iterdir() if path.is_symlink()}
MODULES = sorted(path for path in GPUPOOL.rglob("*.py") if not LINKS & {*path.parents})
#: Uses of ClusterShell that Slurm's notation lacks: selectors of the inventory, and ranges with steps.
SELECTORS = GPUPOOL / "cluster" / "node_table.py"


def imported(module: Path) -> Iterator[str]:
    """Yield the full names of the modules that a module imports from outside its own package."""
    for node in nodes(module):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(name), level=0):
                yield name


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_allowed(module: str, *more: str) -> bool:
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or module == "gpupool.slurm" or module.startswith(("gpupool.slurm.", *more))


@pytest.mark.parametrize("module", sorted([*SLURM.rglob("*.py"), *NODE.rglob("*.py")]), ids=name)
def test_the_ground_floor_imports_the_standard_library_only(module: Path) -> None:
    assert [other for other in imported(module) if not is_allowed(other, f"gpupool.{module.parent.name}")] == []


@pytest.mark.parametrize("module", sorted((GPUPOOL / "programs").rglob("*.py")), ids=name)
def test_a_program_of_a_node_imports_the_standard_library_and_the_ground_floor(module: Path) -> None:
    more = ("gpupool.node", *(("libcloud",) if module.parent.name == "elastic" else ()))
    assert [other for other in imported(module) if not is_allowed(other, *more)] == []


def test_one_module_reads_and_writes_host_lists() -> None:
    assert [
        name(module) for module in MODULES if any(other.startswith("ClusterShell") for other in imported(module))
    ] == [name(SELECTORS)]
    padded = [name(module) for module in MODULES if any(map(is_padded, nodes(module)))]
    assert padded == [name(SELECTORS), name(SLURM / "hostlists.py")]


def is_padded(node: ast.AST) -> bool:
    """Return whether an expression pads a number to the digits of another text: `f"{7:0{len(first)}}"`."""
    return (
        isinstance(node, ast.FormattedValue)
        and node.format_spec is not None
        and ":0{len(" in ast.unparse(ast.JoinedStr([node]))
    )


def test_one_module_writes_durations() -> None:
    assert [name(module) for module in MODULES if any(map(is_clock, nodes(module)))] == [name(SLURM / "times.py")]


def is_clock(node: ast.AST) -> bool:
    """Return whether an expression writes hours and minutes: `f"{hours:02}:{minutes:02}"`."""
    if not isinstance(node, ast.JoinedStr) or len(node.values) < 3:
        return False
    return ":02}:{" in ast.unparse(node)


#: Keys in the output of `scontrol show` that indicate parsing.
KEYS = re.compile(r"\b(?:NodeName|State|Reason|PartitionName|ReservationName|JobId|JobName|CfgTRES|Extra)\\?=")
# these read slurm.conf, of gpupool or of a site
CONF = (GPUPOOL / "compile" / "slurm" / "fold.py", GPUPOOL / "cluster")
SCRIPTS = sorted(
    path for folder in (GPUPOOL, ROOT / "templates") for path in folder.rglob("*") if path.suffix in (".sh", ".j2")
)
#: Scripts that decide on a node, without a run of gpupool: each explains it in its first lines.
ON_NODES = ("elastic-check.j2", "drain.sh", "reserve.sh")


def patterns(module: Path) -> Iterator[str]:
    """Yield the regular expressions of a module."""
    for node in nodes(module):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"))):
                yield from (ast.unparse(argument) for argument in node.args)


def test_each_kind_of_record_has_one_reader() -> None:
    readers = [module for module in MODULES if any(KEYS.search(text) for text in patterns(module))]
    assert [name(reader) for reader in readers if not any(reader.is_relative_to(place) for place in CONF)] == []
    heads = [re.findall(r'records\.read\(answer, "(\w+)"', module.read_text(encoding="utf-8")) for module in MODULES]
    assert sorted(head for found in heads for head in found) == [
        "NodeName",
        "PartitionName",
        "ReservationName",
    ]


def test_scripts_leave_the_answers_of_scontrol_to_the_readers() -> None:
    taken_apart = re.compile(rf"(?:sed|awk|grep|cut)\b.*{KEYS.pattern}")
    parsing = {path.name for path in SCRIPTS if any(map(taken_apart.search, path.read_text().splitlines()))}
    assert parsing == {*ON_NODES}
