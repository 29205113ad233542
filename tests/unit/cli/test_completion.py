"""Shell completion of gpupool: commands, options, and the names of an inventory's nodes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY


@pytest.fixture
def completed(gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return the completions that bash would offer for the last word of a line."""

    def ask(*arguments: object) -> list[str]:
        monkeypatch.setenv("_GPUPOOL_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", "\n".join(["gpupool", *map(str, arguments)]))
        monkeypatch.setenv("COMP_CWORD", str(len(arguments)))
        done = gpupool()
        assert (done.code, done.err) == (0, "")
        return done.out.split()

    return ask


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_gpupool(
    gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("_GPUPOOL_COMPLETE", f"source_{shell}")
    done = gpupool()
    assert (done.code, done.err) == (0, "")
    assert f"_GPUPOOL_COMPLETE=complete_{shell}" in done.out


def test_commands_and_options_are_completed(completed: Callable[..., list[str]]) -> None:
    assert completed("re") == ["render", "rekey", "retire", "rehearse", "restore"]
    assert completed("plan", "x", "--li") == ["--limit"]
    assert completed("rehearse", "x", "--slurm", "2") == ["22.05", "24.11", "26.05"]
    assert completed("plan", "x", "--on", "") == ["auto", "testbed", "nodes"]


@pytest.mark.parametrize(
    "line", ["plan {} --limit", "apply --yes {} --limit", "storage report {} --limit", "render {}", "testbed ssh {}"]
)
def test_nodes_are_completed(completed: Callable[..., list[str]], line: str) -> None:
    words = line.format(INVENTORY / "example").split()
    assert completed(*words, "rtx-0") == ["rtx-01", "rtx-02"]


def test_the_last_of_several_nodes_is_completed(completed: Callable[..., list[str]]) -> None:
    assert completed("plan", INVENTORY / "example", "--limit", "login1,a40-0") == ["login1,a40-01"]


@pytest.mark.parametrize(
    "inventory", ["no/such/inventory", Path(__file__).parents[1] / "cluster" / "broken" / "typo_key"]
)
def test_an_invalid_inventory_completes_nothing_and_prints_nothing(
    completed: Callable[..., list[str]], inventory: object
) -> None:
    assert completed("plan", inventory, "--limit", "a") == []


def test_the_option_that_installs_completion_exists(gpupool: Callable[..., Any]) -> None:
    assert "--install-completion" in gpupool("--help").out
