"""The list of tests that only `script/test --full` runs names tests that exist, and leaves no layer without tests."""

import ast
import subprocess
import sys
from pathlib import Path

import full
import pytest
from suite.layers import FULL, LAYERS, Layer

ROOT = Path(__file__).parents[3]
LISTED = full.listed()


@pytest.mark.parametrize("line", LISTED)
def test_a_line_names_a_file_and_a_test_of_it(line: str) -> None:
    path, _, test = line.partition("::")
    assert (ROOT / path).exists()
    functions = {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if hasattr(node, "name")}
    assert not test or test.partition("[")[0] in functions


def test_no_line_is_within_another() -> None:
    assert not [line for line in LISTED if full.is_listed(line, [other for other in LISTED if other != line])]


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if not layer.long], ids=lambda layer: layer.name)
def test_every_layer_of_each_run_has_files_that_are_not_left_out(layer: Layer) -> None:
    words = [word for command in layer.commands for word in command if command[0] == "pytest"]
    ignored = {words[at + 1] for at, word in enumerate(words) if word == "--ignore"}
    places = [ROOT / word for word in words if word.startswith("tests/") and word not in ignored]
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("test_*.py"))]
    assert not places or [file for file in files if not full.is_listed(str(file.relative_to(ROOT)), LISTED)]


def test_a_test_is_long_if_its_name_is_listed_or_its_layer_is_long() -> None:
    assert full.is_long("tests/vm/test_zfs.py::test_snapshots")
    assert full.is_long("tests/testbed/test_usage.py::test_the_count_is_weekly")
    assert not full.is_long("tests/testbed/test_apply.py::test_second_apply")
    assert not full.is_long("tests/rehearsal/test_faults.py::test_a_fault_breaks_exactly_its_promises")


@pytest.mark.parametrize(
    ("option", "variable", "ran"),
    [("--sample", "", {"short"}), ("--sample", "1", {"short", "long"}), ("-q", "", {"short", "long"})],
)
def test_a_listed_test_runs_in_the_long_form_and_when_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, variable: str, ran: set[str]
) -> None:
    (tmp_path / "full.txt").write_text("# it takes minutes\ntest_it.py::test_long\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('form', [1, 2])\ndef test_long(form): open('long', 'w')\n"
        "def test_short(): open('short', 'w')\n"
    )
    (tmp_path / "conftest.py").write_text(
        "import pathlib, full\n"
        "full.LIST = pathlib.Path(__file__).with_name('full.txt')\n"
        "def pytest_addoption(parser): parser.addoption('--sample', action='store_true')\n"
        "def pytest_collection_modifyitems(config, items): full.leave_out(config, items)\n"
    )
    monkeypatch.setenv(FULL, variable)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}/tests/shared:{ROOT}/script")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", option, "--rootdir", "."]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} & {"short", "long"} == ran
