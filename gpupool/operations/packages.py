"""Debian packages: one apt-get for all missing packages, which starts no service and removes no package."""

from collections.abc import Mapping

from gpupool import unix
from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.packages import LOCK, POLICY_MARK, FetchedPackage
from gpupool.facts.removals import REMOVALS, Installation, Installations
from gpupool.facts.slurm_packages import release_of
from gpupool.operations import diffs
from gpupool.operations.ambient import executing
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.refusal import REFUSED
from gpupool.operations.work import Work
from gpupool.reasons import marked
from gpupool.shell import shell_file, values

#: Folder with the sha256 of each package that was downloaded from a URL.
FETCHED = "/var/lib/gpupool/packages"
#: The beginning of every script that runs apt-get.
APT = values(mark=POLICY_MARK, lock=LOCK, refused=marked(REFUSED)) + REMOVALS + shell_file(__package__, "packages.sh")
_PRELUDE = APT
#: The lines before packages are changed: only under the lock is it known whether an earlier run was interrupted.
FIRST = ("fresh || update || :", '[ -z "$(dpkg --audit)" ] || mend')

#: The difference if dpkg was interrupted.
INTERRUPTED = Aspect("complete", "interrupted", note="an earlier installation was interrupted")


@operation
def installed(
    packages: list[str],
    versions: dict[str, str] | None = None,
    slurm: dict[str, str] | None = None,
    kept: dict[str, str] | None = None,
    settled: bool = True,
) -> Commands:
    """Have these packages installed, without recommended ones, and dpkg's interrupted work completed.

    Names are exact Debian package names. `versions` are the wanted versions of some of them, which may be older; no
    other package's version is changed. The installation starts or restarts no service, and existing configuration
    files are kept. Package lists are updated if they are older than a day, or if the installation fails with them.
    Refused if apt would remove a package; `kept` are the keys of the inventory with which packages of other names stay.
    `slurm` are the releases of Slurm's packages: refused if apt would install another release of a missing package.
    With package lists in which one is missing, both are only known later; not `settled`: an apply adds a repository.
    """
    if wrong := [package for package in packages if not unix.PACKAGE.fullmatch(package)]:
        raise Refused(f"{wrong[0]!r} is not a valid Debian package name")
    versions, slurm = versions or {}, slurm or {}
    installation = look(Installations, "the installed packages", packages=sorted(set(packages)), versions=versions)
    state = installation.now
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
        _refuse_removals(installation, missing, kept or {})
        if settled or executing():
            _refuse_another_release(installation, slurm)
        for release in sorted(set(slurm.values())):
            own = [name for name in missing if slurm.get(name) == release]
            if own:
                work.run("only", release, _another_release(release), *own)
        work.run("get", *missing)
    yield from work.carry_out(f"packages {', '.join(packages)}: installed", _PRELUDE)


def _refuse_another_release(installation: Installation, slurm: Mapping[str, str]) -> None:
    for package, release in slurm.items():
        version = installation.coming.get(package)
        if version and release_of(version) != release:
            raise Refused(f"apt would install {package} {version}, {_another_release(release)}")


def _another_release(release: str) -> str:
    return (
        f"but slurm.version is {release}: set slurm.version to apt's release, or name a repository that has {release} "
        "in slurm.repository (see docs/distributions.md)"
    )


def _refuse_removals(installation: Installation, missing: list[str], kept: Mapping[str, str]) -> None:
    """Refused if apt would remove a package to install the missing ones; a note if apt cannot tell yet."""
    if installation.untried and not executing():
        diffs.note(
            f"packages: whether apt would remove one is not known before it updates its lists ({installation.untried})"
        )
    if installation.removed:
        each = "; ".join(f"{name}, for {by or ', '.join(missing)}" for name, by in installation.removed.items())
        keys = dict.fromkeys(kept[name] for name in installation.removed if name in kept)
        ways = [
            f"To keep {', '.join(name for name in installation.removed if kept.get(name) == key)}, write {key}"
            for key in keys
        ]
        others = " ".join(name for name in installation.removed if name not in kept)
        ways += [f"If they may go: apt-get remove {others}; then apply again"] if others else []
        raise Refused(f"apt would remove packages that the inventory does not name: {each}. {'. '.join(ways)}")


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
