"""The programs of nodes: with the shared modules that they import, and nothing else of gpupool."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from shipped import ship

from gpupool.compile.programs import program

PROGRAMS = sorted(path.name for path in (Path(__file__).parents[3] / "gpupool" / "programs").iterdir() if path.is_dir())
IMPORT_ALL = """
import importlib, pathlib, sys
for file in sorted(pathlib.Path(sys.argv[1]).glob("*/*.py")):
    if file.parent.name != "gpupool" and file.stem != "cloud":  # Libcloud's
        importlib.import_module(f"{file.parent.name}.{file.stem}")
print(*sorted(name for name in sys.modules if name.startswith("gpupool.")))
"""
#: The oldest Python of the distributions in the tables: that of Ubuntu 22.04.
OLDEST = (3, 10)
#: Names that later releases of Python added to the standard library, by module.
LATER = {
    "contextlib": {"chdir"},
    "datetime": {"UTC"},
    "enum": {"EnumCheck", "FlagBoundary", "ReprEnum", "StrEnum", "member", "nonmember", "property", "verify"},
    "itertools": {"batched"},
    "tomllib": {"load", "loads"},
    "typing": {"LiteralString", "Never", "NotRequired", "Required", "Self", "assert_never", "assert_type", "override"},
}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if not name.startswith("_")])
def test_a_program_is_installed_with_exactly_the_modules_that_it_imports(name: str, tmp_path: Path) -> None:
    ship(name, tmp_path)
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-B", "-c", IMPORT_ALL, str(tmp_path)],
        env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    files = [path.relative_to(tmp_path).with_suffix("") for path in tmp_path.glob("gpupool/*/*.py")]
    modules = {".".join(path.parts).removesuffix(".__init__") for path in files}
    assert set(done.stdout.split()) == modules


def test_programs_of_one_node_share_the_same_files() -> None:
    files: dict[str, str] = {}
    for name in PROGRAMS:
        for file in program(name):
            assert files.setdefault(file.path, file.text) == file.text


@pytest.mark.parametrize("name", [name for name in PROGRAMS if not name.startswith("_")])
def test_a_program_runs_on_the_oldest_python_of_the_distributions(name: str) -> None:
    for file in program(name):
        for node in ast.walk(ast.parse(file.text, feature_version=OLDEST)):
            if isinstance(node, ast.ImportFrom):
                later = LATER.get(node.module or "", set()) & {alias.name for alias in node.names}
                assert not later, f"{file.path}: {later}"
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert node.attr not in LATER.get(node.value.id, set()), f"{file.path}: {node.value.id}.{node.attr}"
