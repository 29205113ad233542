"""The help of each command: short options, one example or more that can be typed, and a page that fits 80 columns."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inventories import INVENTORY
from typer.main import get_command

from gpupool.cli.app import COMMANDS, app, imported


def _lines(command: Any, path: list[str]) -> Iterator[list[str]]:
    below = getattr(command, "commands", {})
    if not below:
        yield path
    for name, sub in below.items():
        yield from _lines(sub, [*path, name])


ALL = [path for name in COMMANDS for path in _lines(imported(name), [name])]
NAMES = [" ".join(path) for path in ALL]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def helped(gpupool: Callable[..., Any]) -> Callable[[str], str]:
    """Return the help page of a command."""

    def ask(name: str) -> str:
        done = gpupool(*name.split(), "-h")
        assert (done.code, done.err) == (0, "")
        return str(done.out)

    return ask


@pytest.mark.parametrize("name", ["", "testbed", "storage", *NAMES])
def test_the_page_is_the_same_for_both_options_and_has_no_types_of_flags(
    gpupool: Callable[..., Any], helped: Callable[[str], str], name: str
) -> None:
    page = helped(name)
    assert page == gpupool(*name.split(), "--help").out
    assert [word for word in ("<bool>", "<path>", "<str>", "list[", "[not dim]") if word in page] == []
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize("name", NAMES)
def test_the_page_names_what_the_command_changes(helped: Callable[[str], str], name: str) -> None:
    assert [line for line in helped(name).splitlines() if line.strip().startswith("Changes: ")]


@pytest.mark.parametrize("path", ALL, ids=NAMES)
def test_each_example_is_one_line_and_can_be_parsed(helped: Callable[[str], str], path: list[str]) -> None:
    examples = _examples(helped(" ".join(path)))
    assert examples
    for example in examples:
        assert example[: len(path) + 1] == ["gpupool", *path]
        command: Any = imported(path[0])
        for word in path[1:]:
            command = command.commands[word]
        given = example[len(path) + 1 :]
        if ">" in given:
            given = given[: given.index(">")]
        command.make_context(path[-1], given)


@pytest.mark.parametrize("name", ["explain", "render"])
def test_examples_fit_the_inventory_that_init_creates(
    gpupool: Callable[..., Any],
    helped: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    (tmp_path / "my-site").symlink_to(INVENTORY / "example")
    monkeypatch.chdir(tmp_path)
    for _, *path in _examples(helped(name)):
        done = gpupool(*(str(tmp_path / "files") if word == "/tmp/files" else word for word in path))
        assert (done.code, done.err) == (0, ""), path


def _examples(page: str) -> list[list[str]]:
    return [shlex.split(line) for line in page.splitlines() if line.startswith("   gpupool ")]


def test_the_first_page_has_examples_too(helped: Callable[[str], str]) -> None:
    for _, name, *_ in _examples(helped("")):
        assert name in COMMANDS
    assert "--version" in [option for parameter in get_command(app).params for option in parameter.opts]


def test_the_version_has_a_short_option(gpupool: Callable[..., Any]) -> None:
    assert gpupool("-V").out == gpupool("--version").out != ""
