"""The site's plugstack.conf with the lines of the files that it includes: only controllers have these files."""

import re
from collections.abc import Iterator

from gpupool.adopt.folder import Folder, is_pattern
from gpupool.adopt.includes import is_followed
from gpupool.cluster.complaints import Place

NAME = "plugstack.conf"
_INCLUDE = re.compile(r"include\s+(\S+)")


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
        elif not is_pattern(odd[1]):
            folder.complain(place, f"include {odd[1]}: no file of the folder", "copy it into the folder")
        elif not whole:
            folder.complain(place, f"include {odd[1]}: no file of the folder", "copy these files, if there are any")
    return "".join(f"{line}\n" for line in kept)


def _lines(folder: Folder, name: str, above: tuple[str, ...]) -> Iterator[tuple[Place, str]]:
    """Yield the lines without comments; an `include` only if it leads to no file."""
    files = (*above, name)
    for number, text in enumerate((folder.read(name) or "").split("\n"), 1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        place = Place(name, number)
        included = _INCLUDE.fullmatch(line)
        inner = folder.find_all(included[1], name) if included else []
        for each in inner:
            if is_followed(folder, place, line, each, files):
                yield from _lines(folder, each, files)
        if not inner:
            yield place, line
