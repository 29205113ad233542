"""apt's sources: read again when they, or the keys that sign them, have changed."""

import shlex

from gpupool.facts.sources import STAMP, Sources
from gpupool.operations import packages, upcoming
from gpupool.operations.ambient import executing
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file, values

_PRELUDE = packages.APT + values(stamp=STAMP) + shell_file(__package__, "sources.sh")


@operation
def refreshed(paths: list[str]) -> Commands:
    """Have apt read the `.sources` among these files, if one of the files has changed since apt last read them.

    A source that cannot be read, or that its key does not sign, fails with apt's reason.
    """
    state = look(Sources, "apt's sources", paths=paths)
    coming = {} if executing() else upcoming.announced()
    late = [path for path in paths if state.read.get(path) != coming.get(path, state.now.get(path))]
    work = Work()
    if late:
        work.changes["apt-get update"] = "".join(f"{path}: new, or changed since apt read it\n" for path in late)
        work.lines.append("fresh || update || :")
        work.lines += [shlex.join(["refresh", path]) for path in paths if path.endswith(".sources")]
        work.run("note", *paths)
    yield from work.carry_out("apt has read its sources", _PRELUDE)
