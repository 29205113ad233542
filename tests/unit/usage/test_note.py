"""disk-usage.txt in its format for people, compared with numfmt and with itself."""

import os
import subprocess
import time
from pathlib import Path
from shutil import which

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from gpupool.programs.usage import note

SIZES = some.one_of(
    some.integers(0, 2**20),
    some.integers(0, 2**50 - 1),
    # the borders between two units, and between two tenths
    some.builds(
        lambda power, tenths, off: max(0, 1024**power * tenths // 10 + off),
        some.integers(0, 4),
        some.integers(0, 10300),
        some.integers(-2, 2),
    ),
)


@pytest.mark.promise("SKY-096")
def test_the_file_has_the_figure_of_the_guide() -> None:
    assert note.human(133284169) == "127.2G"


@pytest.mark.promise("SKY-096")
@pytest.mark.skipif(which("numfmt") is None, reason="needs numfmt")
@settings(max_examples=30)
@given(some.lists(SIZES, min_size=200, max_size=200))
def test_the_human_figure_is_that_of_numfmt(sizes: list[int]) -> None:
    printed = subprocess.run(
        ["numfmt", "--from-unit=1024", "--to=iec", "--format=%.1f"],
        input="\n".join(map(str, sizes)), capture_output=True, text=True, check=True, env={"LC_ALL": "C"},
    )  # fmt: skip
    wanted = [f"{word}K" if word[-1].isdigit() else word for word in printed.stdout.split()]
    assert [note.human(size) for size in sizes] == wanted


@given(SIZES)
def test_the_human_figure_is_never_too_small_and_never_a_tenth_too_large(size: int) -> None:
    figure = note.human(size)
    tenths, unit = int(figure[:-1].replace(".", "")), 1024 ** "KMGTPE".index(figure[-1])
    assert tenths * unit >= size * 10 > (tenths - 1) * unit or size == tenths == 0
    assert tenths < 10240


@pytest.mark.promise("SKY-095")
def test_the_file_has_three_lines_of_exactly_this_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        content = note.text(133284169, 1605989040)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert content == "Updated: 2020-11-21 15:04\nUsage (human-readable):  127.2G\nUsage (K): 133284169\n"


@given(SIZES, some.integers(0, 2**32))
def test_a_written_file_is_read_again(size: int, now: int) -> None:
    read = note.parse(note.text(size, now))
    assert read == (time.strftime("%Y-%m-%d %H:%M", time.localtime(now)), size)


@given(some.text(max_size=200))
def test_other_content_is_not_read(content: str) -> None:
    assert note.parse(content) is None


def test_a_file_of_another_owner_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk-usage.txt").write_text(note.text(1, 0))
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        assert note.get(fd, "disk-usage.txt") is not None
        mine = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
        assert note.get(fd, "disk-usage.txt") is None
    finally:
        os.close(fd)
