"""Old files are deleted, with a log line for each, and no others, whatever users do meanwhile."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpupool.programs.usage import purge, tree
from gpupool.programs.usage.purge import Removed, Rule

DAY = 86400
#: A clock by which every file of a test is 61 days old.
LATER = 61 * DAY


def rule(top: Path, keep: int = 1) -> Rule:
    return Rule(str(top), 60 * DAY, DAY, keep)


def run(top: Path, *, later: float = LATER, dry: bool = False, keep: int = 1) -> tuple[Removed, list[str]]:
    log: list[str] = []
    return purge.purge(rule(top, keep), time.time() + later, log.append, dry), log


def names(top: Path) -> set[str]:
    return {str(path.relative_to(top)) for path in top.rglob("*")}


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    top = tmp_path / "scratch"
    (top / "u-one" / "run" / "logs").mkdir(parents=True)
    (top / "u-one" / "run" / "out").write_bytes(b"x" * 10_000)
    (top / "u-one" / "run" / "logs" / "log").write_text("x")
    return top


@pytest.mark.promise("SDU-009")
def test_old_files_are_removed_with_directories_that_become_empty(scratch: Path) -> None:
    gone, log = run(scratch)
    assert names(scratch) == {"u-one"}
    assert (gone.files, gone.directories, gone.failed) == (2, 2, 0)
    assert [line.split("\t")[1] for line in log] == ["remove file"] * 2 + ["remove directory"] * 2
    assert f"\tremove file\t12K\tuid {os.getuid()}\t" in log[0]
    assert log[0].endswith(f"\t{scratch}/u-one/run/out")


@pytest.mark.promise("SDU-009")
def test_a_file_of_59_days_is_kept(scratch: Path) -> None:
    assert run(scratch, later=59 * DAY) == (Removed(), [])
    assert "u-one/run/out" in names(scratch)


@pytest.mark.promise("SDU-009")
def test_a_dry_run_lists_the_old_files_and_removes_none(scratch: Path) -> None:
    before = names(scratch)
    dry, listed = run(scratch, dry=True)
    assert names(scratch) == before
    done, log = run(scratch)
    assert dry == done
    assert [line.replace("would remove", "remove").split("\t")[1:] for line in listed] == [
        line.split("\t")[1:] for line in log
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("/bin", "/boot", "/dev", "/etc", "/lib", "/opt", "/proc", "/root", "/run", "/sbin", "/sys", "/usr"),
        *("/usr/share", "/var/lib", "/var/lib/dpkg"),
    ],
)
def test_nothing_of_the_system_is_removed(path: str) -> None:
    with pytest.raises(tree.TreeError, match=r"from which nothing is removed|is a link|No such file"):
        purge.purge(rule(Path(path)), time.time() + LATER, lambda line: None, dry=True)


def test_a_pipe_is_kept_with_its_directory(scratch: Path) -> None:
    os.mkfifo(scratch / "u-one" / "run" / "logs" / "pipe")
    gone, _ = run(scratch)
    assert names(scratch) == {"u-one", "u-one/run", "u-one/run/logs", "u-one/run/logs/pipe"}
    assert (gone.files, gone.directories, gone.failed) == (2, 0, 0)


@pytest.mark.parametrize("name", [".zfs", "lost+found"])
def test_reserved_names_are_kept_at_the_top_only(name: str, scratch: Path) -> None:
    for folder in (scratch, scratch / "u-one"):
        (folder / name).mkdir()
        (folder / name / "old").write_text("x")
    run(scratch)
    assert names(scratch) == {"u-one", name, f"{name}/old"}


def test_a_file_unpacked_today_with_an_old_date_is_new(scratch: Path) -> None:
    """touch -d, cp -p and tar set the date of the content only: the inode was changed today."""
    old = time.time() - 400 * DAY
    os.utime(scratch / "u-one" / "run" / "out", (old, old))
    assert run(scratch, later=0) == (Removed(), [])


def test_a_file_in_use_keeps_its_directories(scratch: Path) -> None:
    ahead = time.time() + 30 * DAY
    os.utime(scratch / "u-one" / "run" / "logs" / "log", (ahead, ahead))
    gone, _ = run(scratch)
    assert names(scratch) == {"u-one", "u-one/run", "u-one/run/logs", "u-one/run/logs/log"}
    assert (gone.files, gone.directories) == (1, 0)


def test_a_recent_empty_directory_is_kept(scratch: Path) -> None:
    ahead = time.time() + 30 * DAY
    os.utime(scratch / "u-one" / "run" / "logs", (ahead, ahead))
    run(scratch)
    assert names(scratch) == {"u-one", "u-one/run", "u-one/run/logs"}


def test_directories_of_the_first_levels_are_kept(scratch: Path) -> None:
    run(scratch, keep=2)
    assert names(scratch) == {"u-one", "u-one/run"}
    run(scratch, keep=0)
    assert names(scratch) == set()
    assert scratch.is_dir()


def test_links_are_removed_and_their_targets_kept(scratch: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis").write_text("x")
    (scratch / "u-one" / "to-home").symlink_to(home)
    (scratch / "u-one" / "to-thesis").symlink_to(home / "thesis")
    (scratch / "u-two").symlink_to(home)
    gone, _ = run(scratch)
    assert (home / "thesis").read_text() == "x"
    assert names(scratch) == {"u-one"}
    assert gone.files == 5


def test_all_names_of_a_file_are_removed_in_one_run(scratch: Path) -> None:
    """Each removed name sets the change time of the others."""
    for name in ("a", "b", "c"):
        os.link(scratch / "u-one" / "run" / "out", scratch / "u-one" / name)
    began = time.time()
    log: list[str] = []
    # a clock by which all files are old, while the kernel's clock makes touched files new
    gone = purge.purge(Rule(str(scratch), 0, DAY, 1), began, log.append)
    assert names(scratch) == {"u-one"}
    assert (gone.files, gone.kib) == (5, 12 + 4)


def test_a_new_file_with_the_inode_of_a_removed_one_is_new(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpacked with an old date while the purge runs: file systems reuse the inode number of a removed file."""
    here, old = scratch / "u-one" / "run", time.time() - 400 * DAY
    os.link(here / "out", here / "also")
    number, began = (here / "out").stat().st_ino, time.time()
    new = [here / "logs" / f"result{turn}" for turn in range(50)]
    real = tree.open_below

    def open_below(above: int, name: str, device: int) -> int | None:
        if name == "logs":
            for file in new:
                file.write_text("x")
                os.utime(file, (old, old))
        return real(above, name, device)

    monkeypatch.setattr(tree, "open_below", open_below)
    # a clock by which all existing files are old
    purge.purge(Rule(str(scratch), 0, DAY, 1), began, lambda _: None)
    assert not (here / "out").exists()
    assert all(file.exists() for file in new)
    if number not in {file.stat().st_ino for file in new}:
        pytest.skip("this file system did not hand the number out again")


def test_special_files_are_kept(scratch: Path) -> None:
    os.mkfifo(scratch / "u-one" / "run" / "pipe")
    run(scratch)
    assert names(scratch) == {"u-one", "u-one/run", "u-one/run/pipe"}


def test_names_cannot_forge_lines_of_the_log(scratch: Path) -> None:
    bad = "x\n2026-01-01T00:00:00+0000\tremove file\tpasswd\x1b[2J\\"
    (scratch / "u-one" / bad).write_text("x")
    (scratch / "u-one" / os.fsdecode(b"\xff")).symlink_to("y")
    _, log = run(scratch)
    assert all(line.isprintable() for row in log for line in row.split("\t"))
    (line,) = [line for line in log if "passwd" in line]
    assert line.count("\t") == 5
    assert line.endswith(r"/u-one/x\x0a2026-01-01T00:00:00+0000\x09remove file\x09passwd\x1b[2J\x5c")


# Exempt files in any place


def spared(top: Path, *places: Path) -> Rule:
    return Rule(str(top), 60 * DAY, DAY, 0, tuple(map(str, places)))


def test_homes_inside_the_tree_are_kept(scratch: Path, tmp_path: Path) -> None:
    """By their path, by a link to them, or by a link on the path to them."""
    (tmp_path / "way").symlink_to(scratch)
    for name in ("home", "lab", "state"):
        (scratch / "deep" / name / "below").mkdir(parents=True)
        (scratch / "deep" / name / "below" / "thesis").write_text("x")
    (tmp_path / "lab").symlink_to(scratch / "deep" / "lab")
    places = (scratch / "deep" / "home", tmp_path / "lab", tmp_path / "way" / "deep" / "state", tmp_path / "none")
    listed: list[str] = []
    purge.purge(spared(scratch, *places), time.time() + LATER, listed.append, dry=True)
    assert not [line for line in listed if "/deep" in line], "what stays is not listed, nor what holds it"
    purge.purge(spared(scratch, *places), time.time() + LATER, lambda _: None)
    kept = {f"deep/{name}{rest}" for name in ("home", "lab", "state") for rest in ("", "/below", "/below/thesis")}
    assert names(scratch) == {"deep", *kept}


def test_a_tree_inside_homes_is_not_purged(scratch: Path) -> None:
    for place in (scratch, scratch.parent, scratch.parent.parent):
        with pytest.raises(tree.TreeError, match=r"it is inside .*, from which nothing is removed"):
            purge.purge(spared(scratch / "u-one", place), time.time() + LATER, lambda _: None)
    assert "u-one/run/out" in names(scratch)


@pytest.mark.parametrize("place", ["/etc", "/usr", "/usr/share", "/root", "/var/lib/dpkg"])
def test_directories_of_the_system_are_never_purged(place: str) -> None:
    with pytest.raises(tree.TreeError):
        purge.purge(Rule(place, 60 * DAY, DAY, 1), time.time(), lambda _: None, dry=True)


NAMES = st.sampled_from(["a", "b", "c"])
PLACES = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@settings(max_examples=60)
@given(
    files=st.sets(PLACES, min_size=1, max_size=12), kept=st.sets(PLACES, max_size=3), top=PLACES, linked=st.booleans()
)
def test_nothing_outside_the_tree_and_nothing_spared_is_ever_removed(
    tmp_path_factory: pytest.TempPathFactory, files: set[str], kept: set[str], top: str, linked: bool
) -> None:
    """Random trees: purged directories may be in, around or beside exempt directories, which may be named by a link."""
    root = tmp_path_factory.mktemp("trees")
    (root / top).mkdir(parents=True)
    for place in files:
        (root / place).mkdir(parents=True, exist_ok=True)
        (root / place / "file").write_text("x")
    places = []
    for number, place in enumerate(kept):
        (root / place).mkdir(parents=True, exist_ok=True)
        (root / f"link{number}").symlink_to(root / place)
        places.append(root / f"link{number}" if linked else root / place)
    before = names(root)
    inside = any(within(top, place) for place in kept)
    try:
        purge.purge(spared(root / top, *places), time.time() + LATER, lambda _: None)
        assert not inside
    except tree.TreeError:
        assert inside
    gone = before - names(root)
    assert not [path for path in gone if not path.startswith(f"{top}/")]
    assert not [path for path in gone if any(within(path, place) for place in kept)]
    if not inside:
        stays = [path for path in before if path.startswith(f"{top}/") and any(within(path, place) for place in kept)]
        assert {path for path in names(root) if path.startswith(f"{top}/") and path.endswith("/file")} == {
            path for path in stays if path.endswith("/file")
        }


def within(path: str, place: str) -> bool:
    return f"{path}/".startswith(f"{place}/")


# While users work in the tree


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """Return a function that acts once the purge has read a directory of this name, before it removes files there."""

    def at(name: str, deed: Callable[[], object]) -> None:
        real = tree.entries
        done: list[object] = []

        def entries(fd: int, missed: Callable[[str, OSError], None]) -> object:
            pairs = list(real(fd, missed))
            if tree.path_of(fd).endswith(name) and not done:
                done.append(deed())
            return iter(pairs)

        monkeypatch.setattr(tree, "entries", entries)

    return at


def test_a_directory_moved_out_of_the_tree_is_left_alone(
    scratch: Path, tmp_path: Path, meanwhile: Callable[..., None]
) -> None:
    safe = tmp_path / "safe"
    meanwhile("/run", lambda: (scratch / "u-one" / "run").rename(safe))
    gone, log = run(scratch)
    assert names(safe) == {"out", "logs", "logs/log"}
    assert (gone.files, log) == (0, [])


def test_a_directory_that_becomes_a_link_is_not_followed(
    scratch: Path, tmp_path: Path, meanwhile: Callable[..., None]
) -> None:
    home = tmp_path / "home"
    (home / "logs").mkdir(parents=True)
    (home / "logs" / "log").write_text("x")

    def swap() -> None:
        (scratch / "u-one" / "run" / "logs").rename(tmp_path / "away")
        (scratch / "u-one" / "run" / "logs").symlink_to(home / "logs")

    meanwhile("/run", swap)
    run(scratch)
    assert (home / "logs" / "log").exists()
    assert (tmp_path / "away" / "log").exists()


def test_a_file_rewritten_during_the_purge_is_kept(scratch: Path, meanwhile: Callable[..., None]) -> None:
    out = scratch / "u-one" / "run" / "out"
    ahead = time.time() + 30 * DAY

    def rewrite() -> None:
        out.write_text("new")
        os.utime(out, (ahead, ahead))

    meanwhile("/run", rewrite)
    run(scratch)
    assert out.read_text() == "new"


def test_another_file_system_is_not_entered(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tree.open_below
    monkeypatch.setattr(tree, "open_below", lambda above, name, device: real(above, name, device + (name == "logs")))
    run(scratch)
    assert names(scratch) == {"u-one", "u-one/run", "u-one/run/logs", "u-one/run/logs/log"}


def test_a_bind_mount_is_not_entered(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tree.mount_of
    monkeypatch.setattr(tree, "mount_of", lambda fd: "other" if tree.path_of(fd).endswith("/logs") else real(fd))
    run(scratch)
    assert "u-one/run/logs/log" in names(scratch)


@pytest.mark.parametrize(
    ("step", "place"),
    [("open", "u-one/run/logs"), ("unlink", "u-one/run/logs/log"), ("rmdir", "u-one/run/logs")],
)
def test_a_failed_removal_is_counted_and_logged(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, step: str, place: str
) -> None:
    real = getattr(os, step)

    def refuse(name: str, *args: object, **kwargs: object) -> object:
        if name == Path(place).name:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        return real(name, *args, **kwargs)

    monkeypatch.setattr(os, step, refuse)
    gone, log = run(scratch)
    assert place in names(scratch)
    assert gone.failed == 1
    failed = [line.partition("\t")[2] for line in log if "\tfailed: " in line]
    assert failed == [f"failed: Operation not permitted\t\t\t\t{scratch}/{place}"]


def test_a_directory_that_a_user_begins_to_use_is_kept_without_a_failure(
    scratch: Path, meanwhile: Callable[..., None]
) -> None:
    meanwhile("/logs", lambda: (scratch / "u-one" / "run" / "logs" / "new").write_text("x"))
    gone, log = run(scratch)
    assert names(scratch) == {"u-one", "u-one/run", "u-one/run/logs", "u-one/run/logs/new"}
    assert gone.failed == 0
    assert not [line for line in log if "failed" in line]


def test_without_a_log_line_nothing_is_removed(scratch: Path) -> None:
    def full(line: str) -> None:
        raise OSError(28, "No space left on device")

    before = names(scratch)
    purge.purge(rule(scratch), time.time() + LATER, lambda line: full(line) if "remove" in line else None)
    assert names(scratch) == before


# When it may delete at all


def test_the_first_run_and_a_run_after_a_clock_jump_only_list(tmp_path: Path) -> None:
    stamp, scratch, now = tmp_path / "state" / "stamp", rule(tmp_path), 1.8e9
    assert purge.record_run(stamp, scratch, now) == "this is the first run"
    assert purge.record_run(stamp, scratch, now + DAY) == ""
    assert purge.record_run(stamp, scratch, now + 3 * DAY) == "", "one was left out"
    assert "60 days ago" in purge.record_run(stamp, scratch, now + 62.9 * DAY), (
        "less than files may be old: it is a jump"
    )
    assert "60 days ago" in purge.record_run(stamp, scratch, now + 123 * DAY)
    assert purge.record_run(stamp, scratch, now + 124 * DAY) == ""
    assert "-124 days ago" in purge.record_run(stamp, scratch, now)


def test_a_run_may_be_skipped_and_the_next_may_begin_hours_late(tmp_path: Path) -> None:
    stamp, scratch, now = tmp_path / "stamp", rule(tmp_path), 1.8e9
    purge.record_run(stamp, scratch, now)
    late = now + 2 * DAY + 5 * 3600
    assert purge.record_run(stamp, scratch, late) == ""
    assert "2 days ago" in purge.record_run(stamp, scratch, late + 2 * DAY + 7 * 3600)


def test_logs_older_than_a_year_are_removed(tmp_path: Path) -> None:
    for month in range(1, 13):
        for year in (2024, 2025):
            (tmp_path / f"purge-{year}-{month:02}.log").write_text("x")
    (tmp_path / "other.log").write_text("x")
    log = purge.log_of(tmp_path, time.mktime((2026, 1, 15, 3, 0, 0, 0, 0, -1)))
    assert log.name == "purge-2026-01.log"
    kept = [f"purge-2025-{month:02}.log" for month in range(1, 13)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.log", *kept]
