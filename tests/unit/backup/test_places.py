"""Backups in a folder: complete or absent, limited in number so that the disk has room, and checked for damage."""

import gzip
import os
from contextlib import suppress
from pathlib import Path

import pytest

from gpupool.programs.backup import places
from gpupool.programs.backup.places import Failed, Writing, backups, keep

NIGHT = 1_795_400_000


def written(folder: Path, night: int = 0, text: bytes = b"create table\n" * 9999) -> places.Backup:
    with Writing(folder, "database", NIGHT + night, 0) as file:
        file.write(text)
        return file.finish()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_backup_is_compressed_private_checksummed_and_good(tmp_path: Path) -> None:
    made = written(tmp_path)
    assert gzip.decompress(made.path.read_bytes()) == b"create table\n" * 9999
    assert (made.made, made.size, made.is_good()) == (NIGHT, made.path.stat().st_size, True)
    assert {oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {"0o600"}
    assert backups(tmp_path, "database") == [made]
    assert backups(tmp_path, "state") == []


def test_a_changed_or_truncated_backup_is_not_good(tmp_path: Path) -> None:
    made = written(tmp_path)
    content = made.path.read_bytes()
    for other in (content[:-1], content[:40] + b"x" + content[41:], b""):
        made.path.write_bytes(other)
        assert not backups(tmp_path, "database")[0].is_good()


def test_an_interrupted_backup_leaves_only_the_former_ones(tmp_path: Path) -> None:
    old = written(tmp_path)
    before = names(tmp_path)
    with suppress(KeyboardInterrupt), Writing(tmp_path, "database", NIGHT + 1, 0) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert names(tmp_path) == before
    assert backups(tmp_path, "database") == [old]


def test_files_of_a_killed_run_are_no_backups_and_the_next_run_removes_them(tmp_path: Path) -> None:
    (tmp_path / ".database-20261101T023000Z.sql.gz.part").write_bytes(b"half")
    (tmp_path / "database-20261101T023000Z.sql.gz.sha256").write_text("killed before the file had its name\n")
    (tmp_path / "database-20261102T023000Z.sql.gz").write_bytes(b"killed while it was removed")
    (tmp_path / "an-admins-own.sql.gz").write_bytes(b"")
    assert backups(tmp_path, "database") == []
    made = written(tmp_path)
    sums = f"{made.path.name}.sha256"
    assert names(tmp_path) == ["an-admins-own.sql.gz", "database-20261102T023000Z.sql.gz", made.path.name, sums]


def test_the_newest_backups_are_kept(tmp_path: Path) -> None:
    made = [written(tmp_path, night) for night in (3, 1, 2)]
    assert keep(tmp_path, "database", 2) == [made[1].path.name]
    assert backups(tmp_path, "database") == [made[0], made[2]]
    assert len(names(tmp_path)) == 4


def test_no_backup_begins_on_a_disk_without_room(tmp_path: Path) -> None:
    found = os.statvfs(tmp_path)
    with pytest.raises(Failed, match=r"MiB free, and .* MiB are needed: make room there"):
        Writing(tmp_path, "database", NIGHT, found.f_bavail * found.f_frsize)
    assert names(tmp_path) == []


def test_a_disk_that_becomes_full_during_a_backup_keeps_its_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writing(tmp_path, "database", NIGHT, 0) as file:
        monkeypatch.setattr(places, "RESERVE", 1 << 60)
        with pytest.raises(Failed, match="has become full"):
            file.write(os.urandom(20 << 20))
    assert names(tmp_path) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=f"{tmp_path}/none does not exist"):
        Writing(tmp_path / "none", "state", NIGHT, 0)
