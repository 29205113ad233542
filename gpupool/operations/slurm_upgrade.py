"""Upgrade Slurm on a node to another release: download files, stop daemons, replace packages, start daemons."""

import shlex
from collections.abc import Iterator, Sequence

from pyinfra.api.command import StringCommand

from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.slurm_packages import FOLDER, Slurm, SlurmPackages
from gpupool.operations import packages, slurm_version
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work
from gpupool.shell import shell_file, values

#: Maximum seconds without slurmd, even if its packages are delayed: after 300, Slurm ends the jobs of the node.
AWAY_SECONDS = 120
_PRELUDE = packages.APT + values(dir=FOLDER, patience=str(AWAY_SECONDS)) + shell_file(__package__, "slurm_upgrade.sh")
_UP = ("active", "activating", "reloading", "refreshing")


@operation
def fetched(release: str, takes_over_from: list[str], needed: list[str], way_back: bool = False) -> Commands:
    """Have all package files downloaded for the upgrade to a release, and with `way_back` those for a rollback.

    Refused with the reason: a step that Slurm does not allow, a release that apt does not have, or one for which apt
    would remove a package that is `needed` or that an admin has installed.
    """
    state = _state(release)
    if not state.wanted and not state.none:
        this_host().noop(f"Slurm {release}, or none yet")
        return
    _refuse(state, release, takes_over_from, needed)
    work = Work(Kind.PACKAGE)
    if not state.fetched:
        work.differs("files for it", *map(Aspect, _exact(state)))
        work.run("fetch_new", *_exact(state))
    if way_back and state.back:
        former = (Aspect(f"{name}={version}") for name, version in state.back.items())
        work.differs("files for a rollback", *former)
        work.run("fetch_old", *(f"{name}={version}" for name, version in state.back.items()))
    yield from work.carry_out("all files are downloaded", _PRELUDE)


@operation
def installed(release: str, units: list[str], start: list[str], backup: str = "") -> Commands:
    """Have a release of Slurm on the node, from the files of `fetched`; `units` are stopped, those in `start` started.

    `backup` is the program that makes a backup after slurmdbd has stopped. Units in `start` that do not run, or run
    with a program that has been replaced, are started. Units that are not in `start` are not started.
    """
    state, work = _state(release), Work(Kind.PACKAGE)
    idle = [
        unit
        for unit in units
        if (daemon := state.daemons.get(unit)) is None or daemon.active not in _UP or daemon.outdated
    ]
    if state.wanted:
        if executing() and not state.fetched:
            raise Refused("package files have disappeared since they were fetched; run it again")
        for name, (old, new) in state.replaced.items():
            work.differs(name, Aspect(new, old))
        for name, new in state.added.items():
            work.differs(name, Aspect(new, note=f"{new}, which it depends on"))
        for name, (old, _) in state.removed.items():
            work.differs(name, Aspect(ABSENT, old, note=f"{old} will be removed"))
        if not work.changes:  # a step that was interrupted while dpkg ran
            work.differs("dpkg --configure -a", packages.INTERRUPTED)
        work.run("upgrade", release, " ".join(units), " ".join(start), backup, *_exact(state))
    elif idle:
        for unit in idle:
            work.differs(unit, act="start", kind=Kind.SERVICE)
        work.lines = [
            f"systemctl stop {shlex.join(idle)}",
            f"start {shlex.join(unit for unit in idle if unit in start)}",
        ]
    yield from work.carry_out(f"Slurm {release}: installed, and its daemons run", _PRELUDE)


@operation
def answering() -> Commands:
    """Wait until slurmdbd has converted its database and answers; fail with its reason if it stops."""
    if "slurmdbd" not in look(Slurm, "the daemons of Slurm", release="").daemons:
        this_host().noop("slurmdbd is not on this node")
        return
    yield StringCommand(f"{_PRELUDE.strip()}\nanswers")


@operation
def rolled_back(release: str, units: list[str], start: list[str]) -> Commands:
    """Roll Slurm on the node back from a release to the former packages; `units` are stopped, `start` started again."""
    state, work = _state(release), Work(Kind.PACKAGE)
    if release not in state.releases.values():
        this_host().noop(f"no package of Slurm {release} is installed")
        return
    work.differs("Slurm", Aspect("the former release", release, note="back to the former release"))
    work.run("go_back", " ".join(units), " ".join(start))
    yield from work.carry_out("", _PRELUDE)


@operation
def tidied() -> Commands:
    """Remove the files of an upgrade step."""
    if not look(Slurm, "the packages of Slurm", release="").kept:
        this_host().noop("no files of a step to another release")
        return
    work = Work(Kind.PACKAGE)
    work.do("files of the upgrade", Aspect(ABSENT, PRESENT, note="will be removed"), "rm", "-rf", "--", FOLDER)
    yield from work.carry_out("")


def _state(release: str) -> SlurmPackages:
    return look(Slurm, "the packages of Slurm", release=release)


def _exact(state: SlurmPackages) -> list[str]:
    return [f"{name}={version}" for name, version in state.wanted.items()]


def _refuse(state: SlurmPackages, release: str, takes_over_from: Sequence[str], needed: Sequence[str]) -> None:
    for package, own in sorted(state.releases.items()):
        if own != release and own not in takes_over_from:
            raise Refused(slurm_version.why_not(package, own, release, list(takes_over_from)))
    if reasons := list(_obstacles(state, release, needed)):
        raise Refused("; ".join(reasons))


def _obstacles(state: SlurmPackages, release: str, needed: Sequence[str]) -> Iterator[str]:
    missing = [name for name in state.none if name in needed or not state.wanted]
    if missing:
        yield f"apt has no Slurm {release} of {', '.join(missing)}: add a repository, or a suite of Debian, that has it"
    if state.held:
        yield f"{', '.join(state.held)} held: apt-mark unhold {' '.join(state.held)}"
    if state.refused:
        yield f"apt cannot install Slurm {release}: {'; '.join(state.refused)}"
    lost = [name for name, (_, automatic) in state.removed.items() if name in needed or not automatic]
    if lost:
        yield f"apt would remove {', '.join(lost)} for Slurm {release}: provide a matching version"
