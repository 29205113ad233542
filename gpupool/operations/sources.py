"""apt's sources: add other components of the distribution, and update lists if sources or their keys have changed."""

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
def components(origin: str, codename: str, names: list[str], path: str) -> Commands:
    """Have apt read these components of a release of a distribution, from the mirrors of its main.

    `origin` and `codename` are the fields of these names in its Release files; that of its updates may go on after the
    codename with a dash. Components that are missing in the node's sources are added in the file `path`; the sources
    are not changed. Nothing is done if no component is missing, or if apt has no lists yet.
    """
    archives = look(Components, "which components apt reads", without=path)
    ours = [each for each in archives if (each.origin, each.codename.partition("-")[0]) == (origin, codename)]
    missing = [(each, sorted({*names} - {*each.components})) for each in ours if "main" in each.components]
    if not any(lacking for _, lacking in missing):
        this_host().noop(f"apt reads all components of {origin}")
        return
    text = _HEAD + "".join(_stanza(archive, lacking) for archive, lacking in missing if lacking)
    yield from files.put._inner(files=[File(path, text)])


def _stanza(archive: Archive, names: list[str]) -> str:
    key = f"Signed-By: {archive.key}\n" if archive.key else ""
    return f"\nTypes: deb\nURIs: {archive.uri}\nSuites: {archive.suite}\nComponents: {' '.join(names)}\n{key}"
