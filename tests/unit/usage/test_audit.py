"""Entries at the top of a space other than a member's own directory."""

import os
from pathlib import Path

import pytest

from gpupool.programs.usage import audit

ME = os.getuid()


@pytest.fixture
def space(tmp_path: Path) -> Path:
    top = tmp_path / "space"
    for name in ("u-one", "u-two", "datasets", "lost+found"):
        (top / name).mkdir(parents=True)
    (top / "disk-usage.txt").write_text("x")
    (top / "core\n").write_text("x")
    (top / "u-three").write_text("x")
    (top / "u-four").symlink_to("/")
    return top


@pytest.mark.promise("SKY-090")
def test_all_entries_except_members_directories_are_listed(space: Path) -> None:
    members = {"u-one": ME, "u-two": ME + 1, "u-three": ME, "u-four": ME, "u-absent": ME}
    strays = audit.audit(str(space), members, frozenset({"disk-usage.txt"}))
    assert [(stray.kind, stray.name, stray.why) for stray in strays] == [
        ("file", "core\n", "not the name of a member"),
        ("directory", "datasets", "not the name of a member"),
        ("link", "u-four", "not a directory"),
        ("file", "u-three", "not a directory"),
        ("directory", "u-two", "not owned by u-two"),
    ]
    assert all(stray.owner == audit.owner_of(ME) for stray in strays)


@pytest.mark.promise("SKY-090")
def test_the_list_is_complete_with_a_line_for_each(space: Path, tmp_path: Path) -> None:
    strays = audit.audit(str(space), {"u-one": ME})
    path = audit.write(tmp_path / "state" / "audit", "share", str(space), strays, 0)
    head, count, *lines = path.read_text().splitlines()
    assert head.startswith("Updated: 19")
    assert count == f"{space}: 6 entries that do not belong"
    assert [line.split("\t")[:2] for line in lines][:3] == [
        ["file", r"core\x0a"],
        ["directory", "datasets"],
        ["file", "disk-usage.txt"],
    ]
    assert [file.name for file in path.parent.iterdir()] == ["share.txt"]


def test_a_space_without_other_entries_has_an_empty_list(tmp_path: Path) -> None:
    (tmp_path / "u-one").mkdir()
    assert audit.audit(str(tmp_path), {"u-one": ME}) == []
    assert "0 entries that do not belong" in audit.write(tmp_path / "x", "y", "/z", [], 0).read_text()
