"""Debian packages: one apt-get for all missing packages, which starts no service."""

from gpupool import unix
from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.packages import LOCK, POLICY_MARK, FetchedPackage, Packages
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file, values

#: Folder with the sha256 of each package that was downloaded from a URL.
FETCHED = "/var/lib/gpupool/packages"
#: The beginning of every script that runs apt-get.
APT = values(mark=POLICY_MARK, lock=LOCK) + shell_file(__package__, "packages.sh")
_PRELUDE = APT
#: The lines before packages are changed: only under the lock is it known whether an earlier run was interrupted.
FIRST = ("fresh || update || :", '[ -z "$(dpkg --audit)" ] || mend')

#: The difference if dpkg was interrupted.
INTERRUPTED = Aspect("complete", "interrupted", note="an earlier installation was interrupted")


@operation
def installed(packages: list[str], versions: dict[str, str] | None = None) -> Commands:
    """Have these packages installed, without recommended ones, and dpkg's interrupted work completed.

    Names are exact Debian package names. `versions` are the wanted versions of some of them, which may be older; no
    other package's version is changed. The installation starts or restarts no service, and existing configuration
    files are kept. Package lists are updated if they are older than a day, or if the installation fails with them.
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
    """Have a package installed that no repository has, from its URL; a file with another sha256 is not installed.

    Its dependencies are installed from the node's repositories. Nothing is downloaded if the package is already
    installed from the file with this sha256.
    """
    state = look(FetchedPackage, f"the package {package}", package=package, folder=FETCHED)
    work = Work(Kind.PACKAGE)
    if not (state.installed and state.sha256 == sha256):
        now = "from another file" if state.installed else ABSENT
        work.differs(package, Aspect(f"from {url}", now, note=f"from {url}"))
        work.lines = ['[ -z "$(dpkg --audit)" ] || mend']
        work.run("fetch", package, url, sha256, FETCHED)
    yield from work.carry_out(f"package {package}: installed", _PRELUDE)
