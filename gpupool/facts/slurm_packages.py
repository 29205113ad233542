"""Slurm's packages and daemons on a node, and the changes of an upgrade step to another release."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.packages import LOCK
from gpupool.facts.script import Joint, ask
from gpupool.shell import shell_file, values
from gpupool.shown import Shown

#: Folder of the files of a step: `new` packages, `old` packages for a rollback, and notes.
FOLDER = "/var/lib/gpupool/slurm-upgrade"
#: Time limit of the fact: it may have to download package lists.
SECONDS = 600

_LOOK = values(lock=LOCK) + shell_file(__package__, "slurm_packages.sh")


@dataclass(frozen=True)
class Daemon(Shown):
    """A systemd unit of Slurm; `outdated` if it runs with a program that has been replaced on disk."""

    active: str
    outdated: bool = False


@dataclass(frozen=True)
class SlurmPackages(Shown):
    """Versions of packages by name: `installed`, `wanted` for the step, and `added` as dependencies.

    `replaced` are (old, new) versions, `removed` (old version, whether it was installed automatically). `none` are
    packages for which apt has no version of the release, `refused` are apt's reasons against the step. `fetched`: all
    files of the step were downloaded. `back`: versions whose files a rollback lacks. `kept`: a step has left files.
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
        """The release of each installed package, such as 24.11, without libraries, which may have several releases."""
        return {
            name: release_of(version) for name, version in self.installed.items() if not name.startswith("libslurm")
        }


def release_of(version: str) -> str:
    """Return the release in a Debian package's version: 24.11 in 1:24.11.5-4."""
    return ".".join(version.partition(":")[2 if ":" in version else 0].split(".")[:2])


class Slurm(Fact[SlurmPackages]):
    """Slurm's packages and daemons on one node, in one command."""

    def command(self, release: str) -> StringCommand:
        """Ask for the packages and daemons, and for the changes of the step to a release."""
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
    """Return the values of the merged question; apt needs seconds for each question with a release."""
    releases = {release for release, _ in questions} - {""}
    return None if len(releases) > 1 else ["".join(releases), FOLDER]


_JOINT = Joint(_merged, lambda lines, _: list(lines))
