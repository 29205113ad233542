"""The state of a systemd unit, and the files with which it last started."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import Joint, ask
from gpupool.shell import shell_file

#: Folder of the stamps: one file per unit, with the invocation in the first line, then the output of sha256sum.
STAMPS = "/var/lib/gpupool/units"
#: The value in a stamp, and in `WatchedFile.sha256`, for a missing file.
ABSENT = "-"

_LOOK = shell_file(__package__, "service.sh")


@dataclass(frozen=True)
class WatchedFile:
    """A file that a unit reads: its sha256 (ABSENT if it is missing) and its modification time (Unix time)."""

    sha256: str
    written: float


@dataclass(frozen=True)
class UnitState:
    """One unit: its states in systemd's words, the Unix time of its start, and its stamp.

    `stamp_invocation` and `stamp_sums` (path -> sha256) record the files of the last (re)start by gpupool.
    """

    load: str = "not-found"
    active: str = "inactive"
    enabled: str = ""
    need_daemon_reload: bool = False
    invocation: str = ""
    started: float = 0.0
    stamp_invocation: str = ""
    stamp_sums: dict[str, str] = field(default_factory=dict)
    files: dict[str, WatchedFile] = field(default_factory=dict)


class Unit(Fact[UnitState]):
    """One unit and the files it reads, in one command."""

    def command(self, unit: str, paths: Sequence[str] = ()) -> StringCommand:
        """Ask for the unit, its stamp and its files."""
        return ask(_LOOK, STAMPS, unit, "--", *paths, joint=_JOINT)

    def read(self, lines: list[str]) -> UnitState:
        """Read the answer."""
        shown: dict[str, str] = {}
        stamp: list[str] = []
        files: dict[str, WatchedFile] = {}
        for line in lines:
            kind, rest = line.split("\t", 1)
            if kind == "U":
                key, _, value = rest.split("\t", 1)[1].partition("=")
                shown[key] = value
            elif kind == "S":
                stamp.append(rest.split("\t", 1)[1])
            else:
                sha256, written, path = rest.split("\t", 2)
                files[path] = WatchedFile(sha256, float(written))
        return UnitState(
            load=shown.get("LoadState", ""),
            active=shown.get("ActiveState", ""),
            enabled=shown.get("UnitFileState", ""),
            need_daemon_reload=shown.get("NeedDaemonReload") == "yes",
            invocation=shown.get("InvocationID", ""),
            started=_unix(shown.get("InactiveExitTimestamp", "")),
            stamp_invocation=stamp[0] if stamp else "",
            stamp_sums={path: sha256 for sha256, _, path in (line.partition("  ") for line in stamp[1:])},
            files=files,
        )


def _merged(questions: Sequence[Sequence[str]]) -> Sequence[str]:
    units = dict.fromkeys(unit for _, unit, *_ in questions)
    return [STAMPS, *units, "--", *dict.fromkeys(path for _, _, _, *paths in questions for path in paths)]


def _part(lines: Sequence[str], values: Sequence[str]) -> list[str]:
    _, unit, _, *paths = values
    own = {("U", unit), ("S", unit), *(("F", path) for path in paths)}
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
