"""Put files, directories and links on a node: one fact and one command for all of a role.

A file is replaced completely or not at all: all new files are in one command's standard input, are written beside
their destinations with mode 0600, checked, given owner and mode, flushed, and renamed only when all of them are
complete. Their temporary names belong to this command (`*.PID-RANDOM.gpupool-new`), so that no run installs the files
of another. Files that a killed run has left are removed when the next run puts the same file.
"""

import hashlib
import posixpath
import re
import shlex
from dataclasses import dataclass, field

from gpupool.change import ABSENT, Aspect, Kind
from gpupool.facts.files import Paths, PathState
from gpupool.facts.trial import Trial, Tried, fits
from gpupool.operations import daemon_checks, daemon_trials, diffs, upcoming
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.files.unwanted import RECORDING, removed, removed_at_end
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.reading import KEEPING
from gpupool.operations.work import Work
from gpupool.shell import shell_file
from gpupool.wanted import Directory, File

__all__ = ["put", "removed", "removed_at_end", "sha256_of"]

_PATH = re.compile(r"/[^\x00-\x1f\\|]*[^\x00-\x1f\\|/]")
_READ_BY_ALL = 0o004
_PRELUDE = RECORDING + shell_file(__package__, "files.sh")


@operation
def put(
    files: list[File] | None = None,
    directories: list[Directory] | None = None,
    links: dict[str, str] | None = None,
    check: list[str] | None = None,
    read_by: str | None = None,
    discreet: bool = False,
) -> Commands:
    """Have these directories, files and symbolic links (path -> target).

    Files and links are recorded on the node before they are put, so that `removed` knows them. A link never replaces a
    real file or directory, and a file never replaces a directory: the operation fails with the reason. `check` is a
    command that must accept all new files before one is installed; it finds them beside their destinations, with
    `$GPUPOOL_NEW` after their names. The old texts that the unit `read_by` has read are kept (`service.running`).
    Files of sshd, systemd, MariaDB, NFS, nftables and nginx, and programs of the site, are always checked
    (`daemon_checks`); in a plan, `daemon_trials.tried` has them checked. With `discreet`, a plan does not show the old
    text of a file that only some users may read: it may have a secret that gpupool never wrote.
    """
    files, directories, links = files or [], directories or [], links or {}
    paths = [*(d.path for d in directories), *(f.path for f in files), *links]
    if wrong := [path for path in paths if not _PATH.fullmatch(path)] or sorted(
        {p for p in paths if paths.count(p) > 1}
    ):
        raise Refused(f"{wrong[0]!r}: not an absolute path, or given twice")
    if not paths:
        this_host().noop("no files wanted")
        return
    sums = {file.path: sha256_of(file.text) for file in files}
    current = look(Paths, f"{paths[0]} and related files", paths=paths, shown=sums)
    work = _FileWork(Kind.FILE, discreet=discreet)
    for directory in directories:
        work.directory(directory, current.get(directory.path))
    for file in files:
        work.file(file, current.get(file.path))
    for path, target in links.items():
        work.link(path, target, current.get(path))
    if work.news and not executing():
        news = {file.path: file.text for file in files if file.path in work.news}
        daemon_trials.await_trial(news)
        if check:
            _foresee_check(check, news, check[-1] in current)
    work.close(check, paths[0], read_by)
    keeping = KEEPING if read_by and work.news else ""
    yield from work.carry_out(f"{paths[0]} and related files ({len(paths)} in all): as wanted", keeping + _PRELUDE)


def _foresee_check(check: list[str], texts: dict[str, str], known: bool) -> None:
    """Refused if the check refuses the new files in the folder of the path that is its last word.

    A plan tries them in a copy of that folder, with a note if this is not possible. `known` is whether the node has the
    file at that path.
    """
    path = check[-1]
    beside = {name: text for name, text in texts.items() if posixpath.dirname(name) == posixpath.dirname(path)}
    if not beside:
        return
    possible = known and fits(beside)
    tried = look(Trial, f"whether {path} is accepted", check=check, texts=beside) if possible else Tried(tried=False)
    if tried.refused:
        raise Refused(f"{path}: refused, nothing is replaced: {tried.refused}")
    if not tried.tried:
        diffs.note(daemon_trials.not_tried(path))


@dataclass
class _FileWork(Work):
    """The lines of the script, by their order: staging, the record, and the moves to the destinations."""

    discreet: bool = False
    news: list[str] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    def directory(self, entry: Directory, now: PathState | None) -> None:
        """Compare a wanted directory with the node."""
        if now is None:
            self.stages.append(_call("folder", entry.path, f"{entry.owner}:{entry.group}", entry.mode))
            self.differs(entry.path)
        elif now.kind != "directory":
            raise Refused(f"{entry.path}: a {now.kind} is in the place of a directory; move it away")
        else:
            self._rights(entry, now)

    def file(self, entry: File, now: PathState | None) -> None:
        """Compare a wanted file with the node."""
        sha256 = sha256_of(entry.text)
        upcoming.announce(entry.path, sha256, entry.text)
        if now is not None and now.kind in ("directory", "other"):
            raise Refused(f"{entry.path}: a {now.kind} is in the place of a file; move it away")
        if now is not None and now.kind == "file" and now.sha256 == sha256:
            self._rights(entry, now)
            return
        self.texts.append(entry.text)
        rights = f"{entry.owner}:{entry.group}", _mode(entry.mode)
        self.stages.append(_call("stage", entry.path, *rights, str(len(entry.text.encode())), sha256))
        self.news.append(entry.path)
        self.entries.append(_call("remember", entry.path, sha256))
        self.places.append(_call("place", entry.path))
        if now is not None and now.kind == "link":
            self.differs(entry.path, Aspect("a file", f"a link to {now.target}"))
        else:
            hidden = self.discreet and now is not None and not int(now.mode, 8) & _READ_BY_ALL
            old = None if now is None else "" if hidden else now.text or ""
            self.differs(entry.path, diffs.text_of(old, entry.text, entry.path))

    def link(self, path: str, target: str, now: PathState | None) -> None:
        """Compare a wanted symbolic link with the node."""
        if now is not None and now.kind != "link":
            raise Refused(f"{path}: a real {now.kind} is in the place of a link to {target}; move it away")
        if now is None or now.target != target:
            self.entries.append(_call("remember", path, f"-> {target}"))
            self.places.append(_call("link", path, target))
            self.differs(path, Aspect(target, now.target or ABSENT if now else ABSENT), kind=Kind.LINK)

    def close(self, check: list[str] | None, path: str, read_by: str | None = None) -> None:
        """Put the lines in order: all files are staged, checked and recorded before one is installed."""
        checked = [_check(check, path)] if check and self.news else []
        checked += [_check(command, path) for path, command in daemon_checks.checks(self.news)]
        recorded = [*self.entries, "write_record"] if self.entries else []
        clean = f"clean() {{ {' '.join(['rm -f --', *map(_new, self.news)]) if self.news else ':'}; }}"
        kept = [_call("keep_read", read_by, *self.news)] if read_by and self.news else []
        self.lines = [clean, *self.stages, *checked, *recorded, *kept, *self.places]

    def _rights(self, entry: File | Directory, now: PathState) -> None:
        wanted = (entry.owner, entry.group, _mode(entry.mode))
        if (now.owner, now.group, now.mode) != wanted:
            self.places.append(_call("rights", entry.path, f"{entry.owner}:{entry.group}", _mode(entry.mode)))
            before, after = (
                f"{owner}:{group} {mode}" for owner, group, mode in ((now.owner, now.group, now.mode), wanted)
            )
            self.differs(entry.path, Aspect(after, before))


def _check(check: list[str], path: str) -> str:
    # standard input has the files, which are not for the command
    lines = [
        f"output=$({shlex.join(check)} 2>&1 </dev/null) ||",
        f"""say {shlex.quote(path)}": refused, nothing is replaced: $(printf '%s\\n' "$output" | tail -n 1)\"""",
    ]
    return " ".join(lines)


def _new(path: str) -> str:
    return f'{shlex.quote(path)}"$new"'


def _call(function: str, *values: str) -> str:
    return " ".join((function, *(shlex.quote(value) for value in values)))


def _mode(mode: str) -> str:
    return mode.zfill(4)


def sha256_of(text: str) -> str:
    """Return the sha256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
