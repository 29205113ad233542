"""The way back of `gpupool adopt --back`: a node as it was before gpupool first changed it.

Each operation compares with what was kept, so a run that was killed at any point is finished by the next one:
`forgotten` is last, and only then the kept files and the record are removed.
"""

from dataclasses import replace

from gpupool.change import ABSENT, PRESENT, Aspect, Kind
from gpupool.facts.former import BEFORE, Former, FormerFile, FormerUnit
from gpupool.facts.record import RECORD, Entry, Unwanted
from gpupool.facts.service import STAMPS, Unit
from gpupool.operations import diffs, upcoming
from gpupool.operations.ambient import executing
from gpupool.operations.files import sha256_of
from gpupool.operations.files.unwanted import RECORDING, removal
from gpupool.operations.frame import Commands, look, operation
from gpupool.operations.service import UP, bring_up, named
from gpupool.operations.work import Work
from gpupool.shell import shell_file

_PRELUDE = RECORDING + shell_file(__package__, "former.sh")
_WHAT = "the files of the site that gpupool has replaced"
_AT_BOOT = ("enabled", "disabled", "masked")  # states that systemctl can set
_GOES = Aspect(ABSENT, PRESENT, note="added by gpupool: will be removed")
_SHOWN = 12  # packages that a note lists


@operation
def restored(read_first: list[str]) -> Commands:
    """Restore the site's files, with their owners, modes and times, and remove added ones among `read_first`.

    These are the files that slurmctld reads: they change before it reads them again. Programs that it starts until
    then stay; see `removed`.
    """
    state = look(Former, _WHAT)
    work = Work(Kind.FILE)
    for file in state.files:
        if not file.same:
            _restore(file, work)
    _remove([entry for entry in _added(state.files) if entry.path in read_first], work)
    if state.packages:
        more = f" and {len(state.packages) - _SHOWN} more" if len(state.packages) > _SHOWN else ""
        diffs.note(
            f"packages that were not there before stay: {', '.join(state.packages[:_SHOWN])}{more}. If nothing else of "
            f"yours needs them: apt-get remove --simulate {' '.join(state.packages)}"
        )
    yield from work.carry_out("the site's files: as before", _PRELUDE)


@operation
def removed() -> Commands:
    """Remove all other files and links that gpupool has added, and stop their units.

    Files that were changed since gpupool put them stay, and those whose former text an older gpupool has not kept; a
    note names them.
    """
    added = _added(look(Former, _WHAT).files)
    coming = {} if executing() else upcoming.announced()
    work = Work(Kind.FILE)
    _remove([entry for entry in added if coming.get(entry.path) != upcoming.ABSENT], work)
    for entry in added:
        if entry.now and not entry.untouched:
            why = "no copy of the former file was kept" if entry.put == "replaced" else "changed since gpupool put it"
            diffs.note(f"{entry.path} stays: {why}")
    yield from work.carry_out("gpupool's files: removed", _PRELUDE)


@operation
def folders() -> Commands:
    """Give directories their former rights, and remove empty ones that gpupool has created."""
    state = look(Former, _WHAT)
    work = Work(Kind.FILE)
    for path, was, now in state.rights:
        work.do(path, Aspect(was, now), "give_rights", path, *was.split(" "))
    for path in sorted(state.added, key=len, reverse=True):
        work.differs(path, _GOES)
        work.run("rmdir", "--ignore-fail-on-non-empty", "--", path)
    yield from work.carry_out("directories: as before", _PRELUDE)


@operation
def host_name() -> Commands:
    """Have the former host name in the kernel; /etc/hostname is restored like other files."""
    was, now = look(Former, _WHAT).host_name
    work = Work(Kind.OTHER)
    if was != now:
        work.do(f"host name {was}", Aspect(was, now), "hostname", was)
    yield from work.carry_out("host name: as before")


@operation
def reread(unit: str) -> Commands:
    """Restart a daemon that runs with files that gpupool gave it; jobs survive the restart of Slurm's daemons."""
    wanted = named(unit, None)
    state = look(Unit, f"the state of {wanted.unit} from systemd", unit=wanted.unit, paths=[])
    yield from bring_up(replace(wanted, restart_if=list(state.stamp_sums)), start=False)


@operation
def units() -> Commands:
    """Give units that gpupool has changed the state they had: at boot, and whether they run."""
    work = Work(Kind.SERVICE)
    for unit in look(Former, _WHAT).units:
        _unit(unit, work)
    yield from work.carry_out("units: as before")


@operation
def forgotten() -> Commands:
    """Remove the kept files, the record and the stamps of units: nothing on the node is gpupool's then."""
    state, entries = look(Former, _WHAT), look(Unwanted, RECORD, wanted=[])
    work = Work(Kind.FILE)
    if state.kept or entries:
        work.do(
            BEFORE,
            Aspect(ABSENT, PRESENT, note="removed, when all is as before"),
            "forget_all",
            RECORD,
            STAMPS,
        )
    yield from work.carry_out("nothing on this node is gpupool's", _PRELUDE)


def _added(kept: tuple[FormerFile, ...]) -> list[Entry]:
    return look(Unwanted, RECORD, wanted=[file.path for file in kept])


def _restore(file: FormerFile, work: Work) -> None:
    text = file.text
    upcoming.announce(file.path, upcoming.UNKNOWN if text is None else sha256_of(text), text)
    if text is not None and file.present is not None and text != file.present:
        work.differs(file.path, diffs.text_of(file.present, text, file.path))
    elif file.was != file.now:
        work.differs(file.path, Aspect(file.was, file.now or ABSENT))
    else:
        work.differs(file.path, Aspect("as before", "changed"))
    work.run("restore", file.path)


def _remove(entries: list[Entry], work: Work) -> None:
    ours = [entry.path for entry in entries if entry.now and entry.untouched]
    ours.sort(key=lambda path: not path.endswith(".timer"))  # a timer would start its service again
    for path in ours:
        upcoming.announce(path, upcoming.ABSENT)
        work.differs(path, _GOES)
    if ours:
        work.lines += removal(ours)


def _unit(unit: FormerUnit, work: Work) -> None:
    name = unit.name
    if unit.boot == "-" and unit.active == "-":
        # it came with a package, or with a file of gpupool's that is gone by now
        if unit.boot_now in _AT_BOOT and (unit.boot_now == "enabled" or unit.active_now in UP):
            work.do(
                name, Aspect("did not exist", unit.active_now), "systemctl", "disable", "--quiet", "--now", "--", name
            )
        return
    if unit.boot in _AT_BOOT and unit.boot_now in _AT_BOOT and unit.boot != unit.boot_now:
        verbs = {"enabled": "enable", "disabled": "disable", "masked": "mask"}
        if unit.boot_now == "masked":
            work.run("systemctl", "unmask", "--quiet", "--", name)
        work.do(name, Aspect(unit.boot, unit.boot_now), "systemctl", verbs[unit.boot], "--quiet", "--", name)
    if (unit.active in UP) != (unit.active_now in UP) and unit.active in (*UP, "inactive"):
        verb = "start" if unit.active in UP else "stop"
        work.do(name, Aspect(unit.active, unit.active_now), "systemctl", verb, "--", name)
