"""What a node has of Slurm's packages and daemons, and what a step to another release would do there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.packages import LOCK
from gpupool.facts.script import Joint, ask
from gpupool.shell import shell_file, values

#: Where a node keeps the files of a step: `new` for it, `old` for the way back, and notes.
FOLDER = "/var/lib/gpupool/slurm-upgrade"
#: Seconds for a look: lists of packages may be fetched for it.
SECONDS = 600

_LOOK = values(lock=LOCK) + shell_file(__package__, "slurm_packages.sh")


@dataclass(frozen=True)
class Daemon:
    """A unit of Slurm as systemd has it; `outdated` where it runs with a program that has been replaced."""

    active: str
    outdated: bool = False


@dataclass(frozen=True)
class SlurmPackages:
    """Packages by name: their versions as installed, as wanted for the step, and as others are added with them.

    `replaced` is (old, new) of all that the step replaces, `removed` (old, whether apt had installed it by itself).
    `none` are those of which apt knows no version of the release, `refused` apt's reasons not to do it. `fetched`:
    all files of the step are at hand; `back` are versions that the way back lacks. `kept`: a step has left files.
    """

    installed: dict[str, str] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    wanted: dict[str, str] = field(default_factory=dict)
    none: tuple[str, ...] = ()
    added: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, tuple[str, str]] = field(default_factory=dict)
    removed: dict[str, tuple[str, bool]] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    fetched: bool = True
    back: dict[str, str] = field(default_factory=dict)
    daemons: dict[str, Daemon] = field(default_factory=dict)
    unfinished: bool = False
    kept: bool = False

    @property
    def releases(self) -> dict[str, str]:
        """Return the release of each installed package, such as 24.11, without libraries: several may be there."""
        return {name: release_of(it) for name, it in self.installed.items() if not name.startswith("libslurm")}


def release_of(version: str) -> str:
    """Return the release of a version of a Debian package: 24.11 of 1:24.11.5-4."""
    return ".".join(version.partition(":")[2 if ":" in version else 0].split(".")[:2])


class Slurm(Look[SlurmPackages]):
    """Slurm on one node, in one command."""

    def command(self, release: str) -> StringCommand:
        """Ask what is there, and what the step to a release would do."""
        return ask(_LOOK, release, FOLDER, limit=SECONDS, joint=_JOINT)

    def read(self, lines: list[str]) -> SlurmPackages:
        """Read the answer."""
        rows = [line.split("\t") for line in lines]

        def of(kind: str) -> Iterator[Any]:
            return (tuple(row[1:]) for row in rows if row[0] == kind)

        return SlurmPackages(
            installed=dict(of("installed")),
            held=tuple(name for (name,) in of("held")),
            wanted=dict(of("wanted")),
            none=tuple(name for (name,) in of("none")),
            added=dict(of("add")),
            replaced={name: (old, new) for name, old, new in of("replace")},
            removed={name: (old, kind == "auto") for name, old, kind in of("remove")},
            refused=tuple(reason for (reason,) in of("refused")),
            fetched=["fetch"] not in rows,
            back=dict(of("back")),
            daemons={name: Daemon(state, bool(old)) for name, state, *old in of("unit")},
            unfinished=["unfinished"] in rows,
            kept=["kept"] in rows,
        )


def _merged(questions: Sequence[Sequence[str]]) -> Sequence[str] | None:
    """Return the one question that answers all; apt takes seconds for each that has a release."""
    releases = {release for release, _ in questions} - {""}
    return None if len(releases) > 1 else ["".join(releases), FOLDER]


_JOINT = Joint(_merged, lambda lines, _: list(lines))
