"""Debian packages: one apt-get for all that is missing, and no service starts because of it."""

from gpupool import unix
from gpupool.facts.packages import POLICY_MARK, Packages
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file, values

_PRELUDE = values(mark=POLICY_MARK) + shell_file(__package__, "packages.sh")
# an earlier run may still be at work: what it left is known only now, under the lock
_FIRST = ("fresh || update || :", '[ -z "$(dpkg --audit)" ] || mend')


@operation
def installed(packages: list[str]) -> Commands:
    """Install the packages that are missing, without recommended ones, and finish what dpkg was left in the middle of.

    Names are exact Debian package names; versions are never changed. No service starts or restarts because of the
    installation, and configuration files that are there already are kept. Lists are refreshed when they are older
    than a day, or when the installation fails without.
    """
    if wrong := [package for package in packages if not unix.PACKAGE.fullmatch(package)]:
        raise Refused(f"{wrong[0]!r} is not a valid Debian package name")
    state = look(Packages, "the installed packages", packages=sorted(set(packages)))
    missing = [package for package in dict.fromkeys(packages) if package not in state.installed]
    work = Work(dict.fromkeys(missing))
    if state.unfinished:
        work.changes["dpkg --configure -a"] = "an earlier installation was interrupted\n"
    if state.leftover:
        work.changes["/usr/sbin/policy-rc.d"] = "will be removed: left by a run that was killed\n"
    if state.unfinished or missing:
        work.lines += _FIRST
    if missing:
        work.run("get", *missing)
    yield from work.carry_out(f"packages {', '.join(packages)}: installed", _PRELUDE)
