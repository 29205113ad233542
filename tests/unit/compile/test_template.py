"""Templates give the same result whether or not they were filled or compiled before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpupool.compile import template


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A separate cache, and a folder of templates with one in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(template, "TEMPLATES", tmp_path)
    (tmp_path / "one.j2").write_text("{{ value }}\n")
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    template._environment.cache_clear()
    template._filled.cache_clear()


def test_equal_values_of_two_types_have_two_texts(cached: Path) -> None:
    assert [template.fill("one", value=value) for value in (1, True, 1.0, [1])] == ["1\n", "True\n", "1.0\n", "[1]\n"]


def test_a_changed_template_is_compiled_again(cached: Path) -> None:
    assert template.fill("one", value="a") == "a\n"
    assert list((cached / "cache" / "gpupool" / "templates").iterdir())
    (cached / "one.j2").write_text("now {{ value }}\n")
    _forget()
    assert template.fill("one", value="a") == "now a\n"


def test_no_code_is_read_from_a_folder_that_others_can_write(cached: Path) -> None:
    folder = cached / "cache" / "gpupool" / "templates"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert template.fill("one", value="a") == "a\n"
    assert not list(folder.iterdir())


def test_templates_work_without_a_cache_folder(cached: Path) -> None:
    (cached / "cache").write_text("a file where the folder would be")
    assert template.fill("one", value="a") == "a\n"
