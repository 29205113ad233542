"""Create the top folders of labs' spaces and users' folders, with owner, mode and ACL; contents are never changed."""

import re
from collections import Counter

from gpupool.change import ABSENT, Aspect, Kind
from gpupool.facts.spaces import Folders, FolderState
from gpupool.operations.disk import DISK
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file
from gpupool.wanted import Folder, Space

# paths in one command, and lines in one script: an argument has at most 128 KiB
_PATHS, _LINES = 1000, 500
_PATH = re.compile(r"/[^\x00-\x1f\\]*[^\x00-\x1f\\/]")
_PRELUDE = DISK + shell_file(__package__, "spaces.sh")


@operation
def tops(wanted: list[Space]) -> Commands:
    """Have the top folders of spaces with owner, group, mode and groups in the ACL; their contents are not changed.

    Unwanted groups are removed from the ACL; entries of users are kept. A file or a link at the path is refused.
    """
    state = _look([top.path for top in wanted])
    if wrong := [path for path, entry in state.items() if entry.kind != "directory"]:
        message = ", ".join(f"{path} is a {state[path].kind}" for path in wrong)
        raise Refused(f"{message}, in the place of a directory; move it away")
    work = Work(Kind.FILE)
    for top in wanted:
        _compare(top, state.get(top.path), work)
    yield from work.carry_out(f"{len(wanted)} tops of spaces: as wanted", _PRELUDE, at_once=_LINES)


@operation
def folders(wanted: list[Folder]) -> Commands:
    """Create missing folders of users; an existing folder is not changed, even if it has another owner.

    A user who may write to the parent folder may have created it: `verify` reports that, and the run does not fail.
    """
    state = _look([folder.path for folder in wanted])
    work = Work(Kind.FILE)
    for folder in wanted:
        if folder.path not in state:
            owner = (str(folder.uid), str(folder.gid))
            differs = Aspect(f"uid {folder.uid}", note=f"created for uid {folder.uid}")
            work.do(folder.path, differs, "own", folder.path, *owner, folder.mode.zfill(4))
    yield from work.carry_out(f"{len(wanted)} folders are there", _PRELUDE, at_once=_LINES)


def _look(paths: list[str]) -> dict[str, FolderState]:
    counted = Counter(paths)
    if wrong := [path for path in paths if not _PATH.fullmatch(path) or counted[path] > 1 or "/../" in f"{path}/"]:
        raise Refused(f"{wrong[0]!r}: not an absolute path, or given twice")
    state: dict[str, FolderState] = {}
    for first in range(0, len(paths), _PATHS):
        part = look(Folders, f"{paths[first]} and other folders", paths=paths[first : first + _PATHS])
        state |= part
    return state


def _compare(top: Space, now: FolderState | None, work: Work) -> None:
    differs: list[Aspect] = []
    before = None if now is None else (now.uid, now.gid, now.mode)
    mode = top.mode.zfill(4)
    if before != (0, top.gid, mode):
        work.run("top", top.path, str(top.gid), mode)
        wanted = f"0:{top.gid} {mode}"
        actual, note = (ABSENT, f"created as {wanted}") if now is None else (f"{now.uid}:{now.gid} {now.mode}", "")
        differs.append(Aspect(wanted, actual, note=note))
    has = () if now is None else now.groups
    if more := [gid for gid in top.groups if gid not in has]:
        work.run("allow", top.path, *map(str, more))
        may = f"groups {', '.join(map(str, more))} may write"
        differs.append(Aspect(may))
    if less := [gid for gid in has if gid not in top.groups]:
        work.run("forget", top.path, *map(str, less))
        gids = ", ".join(map(str, less))
        differs.append(Aspect(ABSENT, f"groups {gids} may write", note=f"groups {gids} may no longer write"))
    if differs:
        work.differs(top.path, *differs)
