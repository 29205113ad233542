"""Tops of labs' spaces, and folders of people: made with their owner, rights and ACL; contents are never touched."""

import re
import shlex
from collections import Counter
from collections.abc import Generator

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from gpupool.facts.spaces import Folders, FolderState
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.disk import DISK
from gpupool.operations.refusal import refuse
from gpupool.shell import shell_file
from gpupool.wanted import Folder, Space

# in one remote call: far below the 128 KiB that one argument may have
_PATHS, _LINES = 1000, 500
_PATH = re.compile(r"/[^\x00-\x1f\\]*[^\x00-\x1f\\/]")
_PRELUDE = DISK + shell_file(__package__, "spaces.sh")


Commands = Generator[StringCommand, None, None]


@operation()
def tops(wanted: list[Space]) -> Commands:
    """Have the tops of spaces with owner, group, mode and groups in the ACL; what is in them is nobody's business here.

    Groups in an ACL that are not wanted lose it; entries of single users stay. A file or a link at a top's place is
    refused in words.
    """
    state = yield from _look([top.path for top in wanted])
    if state is None:
        return
    lines: list[str] = []
    changes: dict[str, str | None] = {}
    for top in wanted:
        _top(top, state.get(top.path), lines, changes)
    yield from _do(lines, changes, f"{len(wanted)} tops of spaces: as wanted")


@operation()
def folders(wanted: list[Folder]) -> Commands:
    """Make folders of users that are missing. One that is there stays as it is, whoever's it is.

    Who may write to the place may have been there first: that is a matter for `verify`, not for a run to stop at.
    """
    found = yield from _look([folder.path for folder in wanted], strict=False)
    if found is None:
        return
    missing = [folder for folder in wanted if folder.path not in found]
    lines = [shlex.join(["own", it.path, str(it.uid), str(it.gid), it.mode.zfill(4)]) for it in missing]
    yield from _do(
        lines, {it.path: f"created for uid {it.uid}\n" for it in missing}, f"{len(wanted)} folders are there"
    )


def _look(paths: list[str], strict: bool = True) -> Generator[StringCommand, None, dict[str, FolderState] | None]:
    """Ask for the folders; None after a refusal, which is yielded."""
    counted = Counter(paths)
    if odd := [path for path in paths if not _PATH.fullmatch(path) or counted[path] > 1 or "/../" in f"{path}/"]:
        yield from refuse(f"{odd[0]!r}: not an absolute path, or given twice")
        return None
    state: dict[str, FolderState] = {}
    for first in range(0, len(paths), _PATHS):
        part = this_host().get_fact(Folders, paths=paths[first : first + _PATHS])
        if part is None:
            yield from refuse(f"{paths[first]} and others cannot be read: no answer within 60 s")
            return None
        state |= part
    wrong = [path for path, it in state.items() if it.kind != "directory"] if strict else []
    if wrong:
        message = ", ".join(f"{path} is a {state[path].kind}" for path in wrong)
        yield from refuse(f"{message}, in the place of a directory; move it away")
        return None
    return state


def _top(top: Space, now: FolderState | None, lines: list[str], changes: dict[str, str | None]) -> None:
    notes: list[str] = []
    before = None if now is None else (now.uid, now.gid, now.mode)
    mode = top.mode.zfill(4)
    if before != (0, top.gid, mode):
        lines.append(shlex.join(["top", top.path, str(top.gid), mode]))
        was = "is made" if now is None else f"{now.uid}:{now.gid} {now.mode} becomes"
        notes.append(f"{was} 0:{top.gid} {mode}\n")
    has = () if now is None else now.groups
    if more := [gid for gid in top.groups if gid not in has]:
        lines.append(shlex.join(["allow", top.path, *map(str, more)]))
        notes.append(f"groups {', '.join(map(str, more))} may write\n")
    if less := [gid for gid in has if gid not in top.groups]:
        lines.append(shlex.join(["forget", top.path, *map(str, less)]))
        notes.append(f"groups {', '.join(map(str, less))} may no longer write\n")
    if notes:
        changes[top.path] = "".join(notes)


def _do(lines: list[str], changes: dict[str, str | None], nothing: str) -> Commands:
    diffs.record(changes)
    if not lines:
        this_host().noop(nothing)
        return
    for first in range(0, len(lines), _LINES):
        yield StringCommand("\n".join([_PRELUDE.strip(), *lines[first : first + _LINES]]))
