"""apt's sources: add Debian's other components, and update the lists if sources or their keys have changed."""

import shlex

from gpupool.change import Aspect, Kind
from gpupool.facts.components import Archive, Components
from gpupool.facts.sources import ABSENT, STAMP, Sources
from gpupool.operations import files, packages, upcoming
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file, values
from gpupool.wanted import File

_OTHERS = frozenset({"contrib", "non-free", "non-free-firmware"})
_HEAD = "# Written by gpupool: components that other sources lack; changes made here are undone by the next apply.\n"
_PRELUDE = packages.APT + values(stamp=STAMP) + shell_file(__package__, "sources.sh")


@operation
def refreshed(paths: list[str]) -> Commands:
    """Have apt read the `.sources` among these files, if one of the files has changed since apt last read it.

    The operation fails with apt's reason if a source cannot be read or is not signed with its key.
    """
    state = look(Sources, "apt's sources", paths=paths)
    coming = {} if executing() else upcoming.announced()
    sums = {path: coming.get(path, state.now.get(path, ABSENT)) for path in paths}
    late = [path for path, sha256 in sums.items() if sha256 not in (ABSENT, state.read.get(path))]
    work = Work(Kind.PACKAGE)
    if late:
        unread = (Aspect("read", "not read", path, note="new, or changed since apt read it") for path in late)
        work.differs("apt-get update", *unread)
        work.lines.append("fresh || update || :")
        work.lines += [shlex.join(["refresh", path]) for path in paths if path.endswith(".sources")]
        work.run("note", *paths)
    yield from work.carry_out("apt has read its sources", _PRELUDE)


@operation
def components(debian: str, path: str) -> Commands:
    """Have apt read contrib, non-free and non-free-firmware of a release of Debian, from the mirrors of its main.

    Components that are missing in the node's sources are added in the file `path`; the sources are not changed. Nothing
    is done if no component is missing, or if apt has no lists yet.
    """
    archives = look(Components, "which components of Debian apt reads", without=path)
    ours = [archive for archive in archives if archive.codename.partition("-")[0] == debian]
    lacking = [archive for archive in ours if "main" in archive.components and _OTHERS.difference(archive.components)]
    if not lacking:
        this_host().noop("apt reads all components of Debian")
        return
    text = _HEAD + "".join(_stanza(archive) for archive in lacking)
    yield from files.put._inner(files=[File(path, text)])


def _stanza(archive: Archive) -> str:
    names = " ".join(sorted(_OTHERS.difference(archive.components)))
    key = f"Signed-By: {archive.key}\n" if archive.key else ""
    return f"\nTypes: deb\nURIs: {archive.uri}\nSuites: {archive.suite}\nComponents: {names}\n{key}"
