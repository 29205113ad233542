"""The lines of a file with those of the files that it includes, each with its own place."""

from collections.abc import Iterator

from gpupool.adopt.folder import Folder
from gpupool.adopt.lines import Line, lines
from gpupool.cluster.complaints import Place

#: Files that include one another, below the first.
DEEP = 10


class Reader:
    """Reads the files of a folder, and follows Include. Each mistake becomes a trouble of the folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        #: The files that were read, in order.
        self.files: list[str] = []

    def lines(self, name: str, cluster: str = "") -> Iterator[Line]:
        """Yield the lines of a file; `cluster` replaces %c in the names of included files."""
        yield from self._lines(name, cluster, ())

    def _lines(self, name: str, cluster: str, above: tuple[str, ...]) -> Iterator[Line]:
        text = self.folder.read(name)
        if text is None:
            return
        if name not in self.files:
            self.files.append(name)
        for line in lines(name, text):
            if line.included is None:
                yield line
            elif inner := self._included(line, line.included.replace("%c", cluster), (*above, name)):
                yield from self._lines(inner, cluster, (*above, name))

    def _included(self, line: Line, named: str, above: tuple[str, ...]) -> str | None:
        inner = self.folder.find(named, line.place.file)
        if inner is None:
            self.folder.complain(line.place, f"Include {named}: the folder has no such file", "copy it into the folder")
            return None
        return inner if is_followed(self.folder, line.place, f"Include {named}", inner, above) else None


def is_followed(folder: Folder, place: Place, include: str, inner: str, above: tuple[str, ...]) -> bool:
    """Return whether the lines of the file `inner` are read where the line `include` is; if not, complain.

    `above` has the names of the files that include one another, from the first one to that of `place`.
    """
    if inner in above:
        folder.complain(place, f"{include}: the file includes itself", "remove this line")
    elif len(above) > DEEP:
        folder.complain(place, f"{include}: more than {DEEP} files include one another")
    else:
        return True
    return False
