"""Debian packages: one apt-get for all that is missing, and no service starts because of it."""

from gpupool import unix
from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.packages import LOCK, POLICY_MARK, FetchedPackage, Packages
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file, values

#: Where it is noted of each package from an address which file it was: its sha256.
FETCHED = "/var/lib/gpupool/packages"
#: What every script begins with that has apt-get do something.
APT = values(mark=POLICY_MARK, lock=LOCK) + shell_file(__package__, "packages.sh")
_PRELUDE = APT
#: What comes before packages are changed: what an earlier run has left is known only now, under the lock.
FIRST = ("fresh || update || :", '[ -z "$(dpkg --audit)" ] || mend')

#: What dpkg was left in the middle of.
INTERRUPTED = Aspect("complete", "interrupted", note="an earlier installation was interrupted")


@operation
def installed(packages: list[str], versions: dict[str, str] | None = None) -> Commands:
    """Install the packages that are missing, without recommended ones, and finish what dpkg was left in the middle of.

    Names are exact Debian package names; `versions` are those at which some of them have to be, older ones too, and
    no other package's version is changed. No service starts or restarts because of the
    installation, and configuration files that are there already are kept. Lists are refreshed when they are older
    than a day, or when the installation fails without.
    """
    if wrong := [package for package in packages if not unix.PACKAGE.fullmatch(package)]:
        raise Refused(f"{wrong[0]!r} is not a valid Debian package name")
    state = look(Packages, "the installed packages", packages=sorted(set(packages)))
    versions = versions or {}
    missing = []
    work = Work(Kind.PACKAGE)
    for package in dict.fromkeys(packages):
        now, version = state.installed.get(package), versions.get(package)
        if now is None or (version and now != version):
            missing.append(f"{package}={version}" if version else package)
            note = f"version {now} becomes {version}"
            work.differs(package, Aspect(version, now, note=note) if version and now else Aspect())
    if state.unfinished:
        work.differs("dpkg --configure -a", INTERRUPTED)
    if state.leftover:
        killed = Aspect(ABSENT, PRESENT, note="will be removed: left by a run that was killed")
        work.differs("/usr/sbin/policy-rc.d", killed)
    if state.unfinished or missing:
        work.lines += FIRST
    if missing:
        work.run("get", *missing)
    yield from work.carry_out(f"packages {', '.join(packages)}: installed", _PRELUDE)


@operation
def fetched(package: str, url: str, sha256: str) -> Commands:
    """Install a package that no repository has, from its address; a file with another sha256 is not installed.

    What it depends on comes from the repositories of the node. Nothing is downloaded while the package is installed
    and came from the file with this sha256.
    """
    state = look(FetchedPackage, f"the package {package}", package=package, folder=FETCHED)
    work = Work(Kind.PACKAGE)
    if not (state.installed and state.sha256 == sha256):
        now = "from another file" if state.installed else ABSENT
        work.differs(package, Aspect(f"from {url}", now, note=f"from {url}"))
        work.lines = ['[ -z "$(dpkg --audit)" ] || mend']
        work.run("fetch", package, url, sha256, FETCHED)
    yield from work.carry_out(f"package {package}: installed", _PRELUDE)
