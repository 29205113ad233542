"""The selection of tests by `script/test --changed`."""

import subprocess
from pathlib import Path

import pytest
from suite.changed import READS, touched
from suite.layers import BEGIN, LAYERS

ROOT = Path(__file__).parents[3]
NAMES = [layer.name for layer in LAYERS]


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite names files as git does in the top folder."""
    monkeypatch.chdir(ROOT)


def names(*files: str) -> list[str]:
    return [layer.name for layer in touched(LAYERS, files)]


def chosen(layer: str, *files: str) -> list[str]:
    (selected,) = [found for found in touched(LAYERS, files) if found.name == layer]
    return [word for word in selected.commands[0] if word.startswith("tests/")]


def test_a_page_selects_the_tests_that_read_it() -> None:
    assert names("docs/preemption.md") == ["unit"]
    assert names("LICENSE") == ["wheel"]


def test_a_changed_test_runs_alone() -> None:
    assert names("tests/unit/test_target.py") == ["lint", "unit"]
    assert chosen("unit", "tests/unit/test_target.py") == ["tests/unit/test_target.py"]


def test_a_module_selects_the_tests_that_import_it_and_programs_that_do() -> None:
    assert {"lint", "unit", "wheel", "rehearsal", "faults", "fullsize"} == set(names("gpupool/rehearsal/stage.py"))
    assert "tests/unit/test_target.py" not in chosen("unit", "gpupool/rehearsal/stage.py")
    assert {"testbed", "molecule", "vm", "roles"} <= set(names("roles/munge.py"))
    assert "vm" not in names("inventory/skynet/labs.yml")


def test_a_shell_script_selects_the_tests_of_its_module() -> None:
    assert {*names("gpupool/facts/zfs_pools.sh")} == {*names("gpupool/facts/zfs.py")}
    assert chosen("unit", "gpupool/facts/accounting.sh") == chosen("unit", "gpupool/facts/accounting.py") != []


def test_the_two_paths_of_a_role_are_one_file() -> None:
    assert names("gpupool/roles/munge.py") == names("roles/munge.py")


@pytest.mark.parametrize(
    "file", ["requirements.lock", "pyproject.toml", "script/suite/layers.py", "script/environment"]
)
def test_a_file_that_every_test_needs_selects_all(file: str) -> None:
    assert names(file) == NAMES


def test_every_file_selects_a_layer() -> None:
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    free = {".gitignore", "SECURITY.md"}
    assert [file for file in files if not names(file) and file not in free] == []


def test_every_layer_can_start_and_has_its_files() -> None:
    assert sorted(BEGIN) == sorted(READS) == sorted(NAMES)
    for layer in LAYERS:
        for folder in layer.tests:
            assert any(Path(folder).rglob("test_*.py"))


def test_ci_calls_only_script_test() -> None:
    lines = Path(".ci/run").read_text().splitlines()
    assert lines == ["#!/usr/bin/env bash", 'exec "$(dirname "$0")/../script/test"']
