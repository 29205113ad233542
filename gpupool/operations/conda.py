"""conda for all users: the installer's sha256 is checked, and the installation is complete or absent."""

from gpupool.change import ABSENT, Aspect, Kind
from gpupool.facts.conda import Installation
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file

_PRELUDE = shell_file(__package__, "conda.sh")


@operation
def installed(url: str, sha256: str, directory: str, link: str) -> Commands:
    """Have the conda of an installer in `directory`; fail if there is something that gpupool did not install.

    `link` is the users' path; a real directory there is refused before the download. An existing installation is
    never changed: it contains environments and running jobs.
    """
    state = look(Installation, f"what is at {directory}", directory=directory, link=link)
    for path, kind in ((link, state.link), (directory, state.directory)):
        if kind == "foreign":
            raise Refused(f"{path} already exists, and gpupool did not install it; move it away, or set another prefix")
    work = Work(Kind.FILE)
    if state.directory != "installed":
        wanted, began = f"installed from {url}", state.directory == "begun"
        note = f"{wanted}, which an earlier run began" if began else ""
        differs = Aspect(wanted, "begun by an earlier run" if began else ABSENT, note=note)
        work.do(directory, differs, "install_conda", url, sha256, directory)
    yield from work.carry_out(f"{directory}: installed", _PRELUDE)
