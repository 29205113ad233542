"""The site's plugstack.conf with the lines of the files that it includes: only controllers have these files."""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import PurePosixPath

from gpupool.adopt.folder import Folder
from gpupool.cluster.complaints import Place

NAME = "plugstack.conf"
_INCLUDE = re.compile(r"include\s+(\S+)")
_WILD = re.compile(r"[*?[]")


def plugstack_of(folder: Folder, *, whole: bool) -> str:
    """Return the text of plugstack.conf for all nodes, spank(7); "" if it loads no plugin.

    `include` may have a pattern in its last part, and then no file needs to match. If the folder is not the `whole` of
    what the controller has, such a pattern is a trouble of the folder.
    """
    kept: list[str] = []
    for place, line in _lines(folder, NAME, ()):
        odd = _INCLUDE.fullmatch(line)
        if odd is None:
            kept.append(line)
        elif not _WILD.search(odd[1]):
            folder.complain(place, f"include {odd[1]}: no file of the folder", "copy it into the folder")
        elif not whole:
            folder.complain(place, f"include {odd[1]}: no file of the folder", "copy these files, if there are any")
    return "".join(f"{line}\n" for line in kept)


def _lines(folder: Folder, name: str, above: tuple[str, ...]) -> Iterator[tuple[Place, str]]:
    """Yield the lines without comments; an `include` only if it leads to no file."""
    for number, text in enumerate((folder.read(name) or "").split("\n"), 1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        included = _INCLUDE.fullmatch(line)
        inner = [each for each in _files(folder, included[1]) if each not in (*above, name)] if included else []
        for each in inner:
            yield from _lines(folder, each, (*above, name))
        if not inner:
            yield Place(name, number), line


def _files(folder: Folder, pattern: str) -> list[str]:
    """Return the names of the files that a pattern means, sorted as by glob(3)."""
    path = PurePosixPath(pattern)
    if ".." in path.parts:
        return []
    if not _WILD.search(path.name):
        found = folder.find(pattern, NAME)
        return [found] if found else []
    parts = [part for part in path.parent.parts if part != "/"]
    for start in range(len(parts)) if parts else [0]:
        inside = PurePosixPath(*parts[start:])
        if names := [name for name in folder.names(str(inside)) if fnmatch(name, path.name)]:
            return [str(inside / name) for name in names]
    return []
