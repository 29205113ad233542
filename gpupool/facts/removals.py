"""The packages of a node, and the packages that apt would remove to install what is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.packages import LOOK, POLICY_MARK, PackageState, read_packages
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

#: The shell function `removals`, which asks apt.
REMOVALS = shell_file(__package__, "removals.sh")
_LOOK = LOOK + REMOVALS + shell_file(__package__, "removals_by.sh")
_LIMIT = 120  # seconds; apt is asked once for all packages, and once for each if it would remove one


@dataclass(frozen=True)
class Installation(Shown):
    """The installed packages, and the packages that apt would remove to install the missing packages.

    `removed` has the wanted packages that need each removal, "" if only all together do. `untried`: apt's reason if it
    cannot install the packages with its present lists, "" otherwise; then `removed` has what its lists and the
    installed packages' own conflicts show. `coming` are the versions of the missing packages that apt would install.
    """

    now: PackageState
    removed: Mapping[str, str]
    untried: str = ""
    coming: Mapping[str, str] = field(default_factory=dict)


class Installations(Fact[Installation]):
    """The state of the named packages; `versions` are the wanted versions of some of them, which may be older."""

    def command(self, packages: Sequence[str], versions: Mapping[str, str] | None = None) -> StringCommand:
        """Ask for all packages in one command, and have apt simulate the installation of missing ones."""
        wanted = (f"{name}={version}" if (version := (versions or {}).get(name)) else name for name in packages)
        return ask(_LOOK, POLICY_MARK, *wanted, limit=_LIMIT)

    def read(self, lines: list[str]) -> Installation:
        """Read the answer."""
        rows = [line.split("\t") for line in lines]
        return Installation(
            read_packages(lines),
            removed={row[1]: row[2] for row in rows if row[0] == "gone"},
            untried=next((row[1] for row in rows if row[0] == "untried"), ""),
            coming={row[1]: row[2] for row in rows if row[0] == "coming"},
        )
