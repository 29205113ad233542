"""Real trees, counted like `du -sk`, and a file that other users cannot redirect."""

import errno
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from gpupool.programs.usage import count, note, report, tree

FILE = "disk-usage.txt"


def run(top: Path, levels: int = 1) -> tuple[bool, list[str]]:
    """Count; return whether the unit would succeed, and the messages about directories without a file."""
    lines: list[str] = []
    counted = count.count(str(top), levels, FILE, time.time(), lines.append)
    assert lines == [f"{'/'.join(filter(None, (str(top), entry.path)))}: {entry.why}" for entry in counted.uncounted]
    return counted.well, lines


def du(folder: Path) -> int:
    """Return du's figure; it does not cross file systems, like the count."""
    output = subprocess.run(["du", "-skx", "--", str(folder)], capture_output=True, text=True, check=True)
    return int(output.stdout.split()[0])


def recorded_kib(folder: Path) -> int:
    read = note.parse((folder / FILE).read_text())
    assert read
    return read[1]


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A space with two users' directories and all the cases that make counting difficult."""
    top = tmp_path / "space"
    one, two = top / "u-one", top / "u-two"
    (one / "deep" / "er").mkdir(parents=True)
    two.mkdir()
    (one / "data").write_bytes(b"x" * 300_000)
    os.link(one / "data", one / "deep" / "same")
    os.link(one / "data", two / "same-too")
    with (two / "sparse").open("wb") as sparse:
        sparse.truncate(1 << 30)
        sparse.write(b"x" * 10_000)
    (two / "link-to-all").symlink_to("/")
    (two / "long-link").symlink_to("x" * 3000)
    (one / "deep" / "er" / "odd\nname\t\x1b[31m").write_bytes(b"x" * 5000)
    os.mkfifo(one / "pipe")
    (two / os.fsdecode(b"x\xff\xfe")).symlink_to("/etc")
    return top


@pytest.mark.promise("SKY-095")
def test_each_directory_has_the_size_of_du(space: Path) -> None:
    assert run(space) == (True, [])
    for folder in space.iterdir():
        assert recorded_kib(folder) == du(folder)
        assert len((folder / FILE).read_text().splitlines()) == 3
        assert oct((folder / FILE).stat().st_mode)[-4:] == "0644"
    assert not (space / FILE).exists()


@pytest.mark.promise("SKY-097")
def test_a_later_count_replaces_the_figures_and_includes_new_directories(space: Path) -> None:
    run(space)
    new = space / "u-new"
    new.mkdir()
    (space / "u-one" / "more").write_bytes(b"x" * 100_000)
    before = recorded_kib(space / "u-one")
    assert not (new / FILE).exists()
    assert run(space)[0]
    assert recorded_kib(new) == du(new)
    assert recorded_kib(space / "u-one") == du(space / "u-one") > before


def test_each_level_down_to_users_has_the_size_of_du(space: Path) -> None:
    """A file with names in two users' directories counts in both, and once in the directory that contains both."""
    outer = space.parent
    assert run(outer, levels=2) == (True, [])
    for folder in (space, *(path for path in space.iterdir() if path.is_dir())):
        assert recorded_kib(folder) == du(folder)
    apart = sum(recorded_kib(path) for path in space.iterdir() if path.is_dir())
    assert recorded_kib(space) < apart + du(space / "u-one" / "deep")


NAMES = some.sampled_from(["a", "b", "c"])
PATHS = some.lists(NAMES, min_size=1, max_size=4).map("/".join)
STEPS = some.lists(
    some.one_of(
        some.tuples(some.just("file"), PATHS, some.integers(0, 40_000)),
        some.tuples(some.just("hole"), PATHS, some.integers(0, 1 << 24)),
        some.tuples(some.just("link"), PATHS, PATHS),
        some.tuples(some.just("symlink"), PATHS, PATHS),
        some.tuples(some.just("folder"), PATHS, some.just(0)),
    ),
    max_size=25,
)


@pytest.mark.promise("SKY-095")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, levels=some.integers(1, 3))
def test_any_tree_has_the_size_of_du(
    steps: list[tuple[str, str, object]], levels: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    top = tmp_path_factory.mktemp("tree")
    for kind, name, value in steps:
        make(top, kind, name, value)
    assert run(top, levels) == (True, [])
    for folder, _, _ in os.walk(top):
        depth = len(Path(folder).relative_to(top).parts)
        if 0 < depth <= levels:
            assert recorded_kib(Path(folder)) == du(Path(folder))
        else:
            assert not (Path(folder) / FILE).exists()


def make(top: Path, kind: str, name: str, value: object) -> None:
    """Do one step of building a tree; impossible steps are skipped."""
    path = top / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "folder":
            path.mkdir()
        elif kind == "file":
            path.write_bytes(b"x" * int(str(value)))
        elif kind == "hole":
            with path.open("wb") as hole:
                hole.truncate(int(str(value)))
        elif kind == "link":
            path.hardlink_to(top / str(value))
        else:
            path.symlink_to(top / str(value))
    except OSError:
        pass


@pytest.mark.promise("SKY-095")
def test_a_directory_that_grows_late_is_counted_again(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ZFS reports only seconds later how large a directory became by a new name in it."""

    def grow(seconds: float) -> None:
        for number in range(300):
            (space / "u-two" / f"{'x' * 200}{number}").touch()
        for number in range(300):
            (space / "u-two" / f"{'x' * 200}{number}").unlink()

    monkeypatch.setattr(tree, "file_system", lambda fd: "zfs")
    monkeypatch.setattr(time, "sleep", grow)
    outer = space.parent
    before = du(space / "u-two")
    assert run(outer, levels=2) == (True, [])
    for folder in (space, space / "u-one", space / "u-two"):
        assert recorded_kib(folder) == du(folder)
    if du(space / "u-two") < before + 8:
        pytest.skip("directories do not grow on this file system")


def test_a_figure_that_cannot_be_corrected_is_reported_with_its_directory(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory is larger by now, and its disk is full."""
    grown: list[Path] = []
    size, put = note.size, note.put

    def grow(_: float) -> None:
        grown.append(space / "u-two")

    def larger(fd: int, file: str) -> int:
        return size(fd, file) + (8 if Path(tree.path_of(fd)) in grown else 0)

    def full(fd: int, file: str, blocks: int, now: float) -> int:
        if grown:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return put(fd, file, blocks, now)

    monkeypatch.setattr(tree, "file_system", lambda fd: "zfs")
    monkeypatch.setattr(time, "sleep", grow)
    monkeypatch.setattr(note, "size", larger)
    monkeypatch.setattr(note, "put", full)
    assert run(space) == (False, [f"{space}/u-two: {FILE} is not written: No space left on device"])


#: Entries that a user may have under a name that the program uses.
OWN: dict[str, tuple[Callable[[Path], object], str]] = {
    "a_file": (lambda path: (path.write_text("mine"), os.chown(path, 54011, 54001)), "a file"),
    "a_link": (lambda path: path.symlink_to("/etc/passwd"), "a link"),
    "a_dangling_link": (lambda path: path.symlink_to("/nowhere"), "a link"),
    "a_pipe": (os.mkfifo, "something"),
    "a_directory": (lambda path: (path.mkdir(), (path / "data").write_bytes(b"x" * 90_000)), "a directory"),
}


@pytest.mark.parametrize("name", [FILE, note.leftover(FILE)])
@pytest.mark.parametrize(("make_own", "kind"), OWN.values(), ids=OWN)
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, whose files are ours")
def test_a_users_entry_with_the_name_of_the_file_is_kept(
    space: Path, make_own: Callable[[Path], object], kind: str, name: str
) -> None:
    own = space / "u-one" / name
    make_own(own)
    before = own.lstat()
    well, lines = run(space)
    assert (well, lines) == (
        True,
        [f"{space}/u-one: {FILE} is not written: {name} is {kind} of another owner"],
    )
    after = own.lstat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)
    assert {FILE, note.leftover(FILE)} & {path.name for path in (space / "u-one").iterdir()} == {name}
    # all others get theirs, and the directory above counts it as du does
    assert run(space.parent, levels=2)[0]
    for folder in (space, space / "u-two"):
        assert recorded_kib(folder) == du(folder)


def test_a_users_file_created_meanwhile_is_kept(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fchmod

    def late(fd: int, mode: int) -> None:
        real(fd, mode)
        own = Path(f"/proc/self/fd/{fd}").readlink().with_name(FILE)
        if own.parent.name == "u-two":
            own.write_text("mine")

    monkeypatch.setattr(os, "fchmod", late)
    assert run(space) == (
        True,
        [f"{space}/u-two: {FILE} is not written: {FILE} was created by another user"],
    )
    assert (space / "u-two" / FILE).read_text() == "mine"
    assert not (space / "u-two" / note.leftover(FILE)).exists()
    assert recorded_kib(space / "u-one") == du(space / "u-one")


def test_a_file_of_a_killed_run_is_removed(space: Path) -> None:
    (space / "u-one" / note.leftover(FILE)).write_text("half a fi")
    assert run(space) == (True, [])
    assert recorded_kib(space / "u-one") == du(space / "u-one")
    assert not (space / "u-one" / note.leftover(FILE)).exists()


def test_a_link_at_the_top_is_no_directory_of_the_space(space: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (space / "u-three").symlink_to(other)
    assert run(space)[0]
    assert not (other / FILE).exists()


@pytest.mark.parametrize(
    ("number", "well"), [(errno.EDQUOT, True), (errno.ENOSPC, False), (errno.EIO, False), (errno.EROFS, False)]
)
def test_a_users_quota_is_no_failure_and_a_full_disk_is_one(
    space: Path, monkeypatch: pytest.MonkeyPatch, number: int, well: bool
) -> None:
    real = os.pwrite

    def write(fd: int, text: bytes, offset: int) -> int:
        if Path(f"/proc/self/fd/{fd}").readlink().is_relative_to(space / "u-one"):
            raise OSError(number, os.strerror(number))
        return real(fd, text, offset)

    run(space)
    old = (space / "u-one" / FILE).read_text()
    monkeypatch.setattr(os, "pwrite", write)
    assert run(space) == (well, [f"{space}/u-one: {FILE} is not written: {os.strerror(number)}"])
    assert (space / "u-one" / FILE).read_text() == old
    assert recorded_kib(space / "u-two") == du(space / "u-two")
    assert not (space / "u-one" / note.leftover(FILE)).exists()


@pytest.mark.parametrize(("number", "well"), [(errno.EACCES, True), (errno.ENOTCONN, True), (errno.EIO, False)])
def test_an_unreadable_directory_keeps_the_old_figure(
    space: Path, monkeypatch: pytest.MonkeyPatch, number: int, well: bool
) -> None:
    """A user's own mount, which root may not read, is ignored; a disk that cannot be read is an error."""
    run(space)
    old = (space / "u-one" / FILE).read_text()
    real = tree.open_below

    def closed(above: int, name: str, device: int) -> int | None:
        if name == "deep":
            raise OSError(number, os.strerror(number))
        return real(above, name, device)

    monkeypatch.setattr(tree, "open_below", closed)
    assert run(space) == (well, [f"{space}/u-one: not counted, because of deep: {os.strerror(number)}"])
    assert (space / "u-one" / FILE).read_text() == old


def test_a_directory_with_an_unreadable_part_keeps_the_old_figure(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (space / "u-one" / "more").mkdir()
    run(space, levels=2)
    old = (space / "u-one" / FILE).read_text()
    real = tree.open_below
    closed: list[str] = []

    def first_closed(above: int, name: str, device: int) -> int | None:
        if tree.path_of(above).endswith("/u-one") and not closed:
            closed.append(name)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(above, name, device)

    monkeypatch.setattr(tree, "open_below", first_closed)
    why = f"{space}/u-one: not counted, because of {{}}: {os.strerror(errno.EIO)}"
    assert run(space, levels=2) == (False, [why.format(*closed)])
    assert (space / "u-one" / FILE).read_text() == old


def test_lost_and_found_at_the_top_is_not_counted_and_below_it_is(space: Path) -> None:
    for folder in (space / "lost+found", space / "u-one" / "lost+found"):
        folder.mkdir()
        (folder / "data").write_bytes(b"x" * 200_000)
    assert run(space) == (True, [])
    assert not (space / "lost+found" / FILE).exists()
    assert recorded_kib(space / "u-one") == du(space / "u-one")


def test_the_path_to_the_top_may_contain_no_link(space: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(space)
    with pytest.raises(tree.TreeError, match="way in its path is a link"):
        run(tmp_path / "way")
    with pytest.raises(tree.TreeError, match="No such file"):
        run(tmp_path / "nowhere")


def test_a_very_deep_tree_is_counted(space: Path) -> None:
    tree.allow_depth()
    fd = os.open(space / "u-one", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d" * 20, dir_fd=fd)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    assert run(space) == (True, [])
    assert recorded_kib(space / "u-one") == du(space / "u-one")
    subprocess.run(["rm", "-rf", str(space)], check=True)


@pytest.mark.parametrize(("levels", "paths"), [(1, ["u-one", "u-two"]), (2, ["u-one", "u-one/deep", "u-two"])])
def test_a_report_has_the_directories_of_the_count(space: Path, levels: int, paths: list[str]) -> None:
    assert run(space, levels) == (True, [])
    assert [path for path, _, _ in report.directories(str(space), levels)] == paths
    # Path.rglob of Python 3.11.2 fails at the long link
    written = {os.path.relpath(folder, space) for folder, _, names in os.walk(space) if FILE in names}
    assert written == set(paths)
