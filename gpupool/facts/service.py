"""The state of a systemd unit, and the files with which it last started."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import Joint, ask
from gpupool.shell import shell_file
from gpupool.shown import Shown
from gpupool.unix import UNITS

#: Folder of the stamps: one file per unit. The first line has the invocation and the start of the main process, the
#: others are the output of sha256sum.
STAMPS = "/var/lib/gpupool/units"
#: The value in a stamp, and in `WatchedFile.sha256`, for a missing file.
ABSENT = "-"

_LOOK = shell_file(__package__, "service.sh")


@dataclass(frozen=True)
class WatchedFile(Shown):
    """A file that a unit reads: its sha256 (ABSENT if it is missing) and its ctime, the Unix time of a change."""

    sha256: str
    written: float


@dataclass(frozen=True)
class Listening(Shown):
    """Whether a socket of systemd listens for one process of a service, `now` and from the next boot on (`at_boot`)."""

    now: bool = False
    at_boot: bool = False


@dataclass(frozen=True)
class UnitState(Shown):
    """One unit: its states in systemd's words, the Unix time of its start, and its stamp.

    `process` is the start of its main process, as text and as Unix time: some daemons replace the process to read their
    files again. `stamp_invocation`, `stamp_process` ("" in stamps without it) and `stamp_sums` (path -> sha256) record
    the process and the files of the last (re)start or reload by gpupool, `stamped` its Unix time. `socket` is the
    socket of the same name that starts the service once; a socket with a process for each connection does not count.
    """

    load: str = "not-found"
    active: str = "inactive"
    enabled: str = ""
    need_daemon_reload: bool = False
    invocation: str = ""
    started: float = 0.0
    process: str = ""
    process_started: float = 0.0
    stamp_invocation: str = ""
    stamp_process: str = ""
    stamp_sums: dict[str, str] = field(default_factory=dict)
    stamped: float = 0.0
    files: dict[str, WatchedFile] = field(default_factory=dict)
    socket: Listening = Listening()

    @property
    def is_stamped(self) -> bool:
        """Whether the stamp is about the running process."""
        return self.is_same_invocation and self.stamp_process in ("", self.process)

    @property
    def is_same_invocation(self) -> bool:
        """Whether the unit was not started again since the stamp."""
        return self.stamp_invocation == self.invocation


class Unit(Fact[UnitState]):
    """One unit and the files it reads, in one command."""

    def command(self, unit: str, paths: Sequence[str] = ()) -> StringCommand:
        """Ask for the unit, its stamp and its files; ValueError if the name of the unit has no type."""
        if "." not in unit:
            raise ValueError(f"{unit}: write the whole name of the unit; its stamp has that name")
        return ask(_LOOK, STAMPS, unit, "--", *paths, joint=_JOINT)

    def read(self, lines: list[str]) -> UnitState:
        """Read the answer."""
        shown: dict[str, str] = {}
        stamp: list[str] = []
        stamped = loaded = 0.0
        files: dict[str, WatchedFile] = {}
        socket = Listening()
        for line in lines:
            kind, rest = line.split("\t", 1)
            if kind == "U":
                key, _, value = rest.split("\t", 1)[1].partition("=")
                shown[key] = value
            elif kind == "S":
                stamp.append(rest.split("\t", 1)[1])
            elif kind == "W":
                stamped = float(rest.split("\t", 1)[1])
            elif kind == "M":
                loaded = _unix(rest.split("\t", 1)[1])
            elif kind == "T":
                _, active, enabled, accept = rest.split("\t")
                now = active == "active" and accept == "no"
                socket = Listening(now, now and enabled == "enabled")
            else:
                sha256, written, path = rest.split("\t", 2)
                files[path] = WatchedFile(sha256, float(written))
        process = shown.get("ExecMainStartTimestamp", "")
        stamp_invocation, _, stamp_process = stamp[0].partition(" ") if stamp else ("", "", "")
        return UnitState(
            load=shown.get("LoadState", ""),
            active=shown.get("ActiveState", ""),
            enabled=shown.get("UnitFileState", ""),
            need_daemon_reload=shown.get("NeedDaemonReload") == "yes"
            # systemd does not notice a file that was put back with its former mtime
            or any(path.startswith(f"{UNITS}/") and file.written > loaded > 0 for path, file in files.items()),
            invocation=shown.get("InvocationID", ""),
            started=_unix(shown.get("InactiveExitTimestamp", "")),
            process=process,
            process_started=_unix(process),
            stamp_invocation=stamp_invocation,
            stamp_process=stamp_process,
            stamp_sums={path: sha256 for sha256, _, path in (line.partition("  ") for line in stamp[1:])},
            stamped=stamped,
            files=files,
            socket=socket,
        )


def _merged(questions: Sequence[Sequence[str]]) -> Sequence[str]:
    units = dict.fromkeys(unit for _, unit, *_ in questions)
    return [STAMPS, *units, "--", *dict.fromkeys(path for _, _, _, *paths in questions for path in paths)]


def _part(lines: Sequence[str], values: Sequence[str]) -> list[str]:
    _, unit, _, *paths = values
    own = {("M", ""), ("U", unit), ("W", unit), ("S", unit), ("T", f"{unit.removesuffix('.service')}.socket")}
    own |= {("F", path) for path in paths}
    return [line for line in lines if _about(line) in own]


def _about(line: str) -> tuple[str, str]:
    kind, rest = line.split("\t", 1)
    if kind == "F":
        return kind, rest.split("\t", 2)[2]
    return kind, rest.split("\t", 1)[0]


_JOINT = Joint(_merged, _part)


class UnitFiles(Fact[dict[str, str]]):
    """Whether units start at boot, in systemd's words (enabled, disabled, masked, …), for units that exist.

    The state is read from the files: for a loaded unit, `systemctl show` may have an older one.
    """

    def command(self, units: Sequence[str]) -> StringCommand:
        """Ask for all units in one command."""
        return ask('systemctl list-unit-files --no-legend --plain -- "$@" || :', *units)

    def read(self, lines: list[str]) -> dict[str, str]:
        """Read the answer."""
        return {unit: state for unit, state, *_ in map(str.split, lines)}


def _unix(text: str) -> float:
    # "Sat 2026-11-21 08:03:53.123456 UTC"; empty or "n/a" if the unit has never started
    parts = text.split()
    if len(parts) != 4:
        return 0.0
    form = "%Y-%m-%d %H:%M:%S.%f" if "." in parts[2] else "%Y-%m-%d %H:%M:%S"
    return datetime.strptime(f"{parts[1]} {parts[2]}", form).replace(tzinfo=UTC).timestamp()
