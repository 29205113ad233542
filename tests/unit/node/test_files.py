"""A file is replaced as a whole, or not at all."""

import os
import stat
from pathlib import Path

import pytest

from gpupool.node import files


def test_a_reader_has_the_old_file_or_the_new_one_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    mask = os.umask(0o077)
    try:
        with path.open() as reader:
            files.replace(path, "new\u00e9")
            assert reader.read() == "old"
    finally:
        os.umask(mask)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == ("new\u00e9".encode(), 0o644)
    files.replace(path, "", mode=0o600)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_links_of_another_user_are_not_followed(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "file"
    other.write_text("untouched")
    path.symlink_to(other)
    (tmp_path / f".file.{os.getpid()}").symlink_to(other)
    files.replace(path, "new")
    assert (other.read_text(), path.is_symlink(), path.read_text()) == ("untouched", False, "new")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        files.replace(path, "\udcff")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        files.replace(tmp_path / "folder", "new")
    assert path.read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]
