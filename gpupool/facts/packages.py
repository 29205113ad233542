"""The Debian packages of a node, and whether dpkg was interrupted."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

#: A line of gpupool's /usr/sbin/policy-rc.d, by which it is recognized.
POLICY_MARK = "gpupool: no service starts because a package was installed"
#: Lock file of all gpupool scripts that run apt.
LOCK = "/var/lib/gpupool-packages.lock"

#: The script that asks for packages; `facts.removals` continues it.
LOOK = shell_file(__package__, "packages.sh")


@dataclass(frozen=True)
class PackageState(Shown):
    """Installed versions by package; `unfinished`: dpkg was interrupted; `leftover`: policy-rc.d of a killed run."""

    installed: dict[str, str]
    unfinished: bool = False
    leftover: bool = False


class Packages(Fact[PackageState]):
    """The state of the named packages, in one command."""

    def command(self, packages: Sequence[str]) -> StringCommand:
        """Ask for all packages in one command."""
        return ask(LOOK, POLICY_MARK, *packages)

    def read(self, lines: list[str]) -> PackageState:
        """Read the answer."""
        return read_packages(lines)


def read_packages(lines: list[str]) -> PackageState:
    """Return the state that the lines of the script describe; other lines are ignored."""
    rows = [line.split("\t") for line in lines]
    return PackageState(
        # the second letter is the state; "hi " (held, installed) counts as installed, too
        installed={row[2]: row[3] for row in rows if row[0] == "package" and row[1][1:2] == "i"},
        unfinished=["unfinished"] in rows,
        leftover=["leftover"] in rows,
    )


@dataclass(frozen=True)
class FetchedState(Shown):
    """Whether a package is installed, and the sha256 of its file, "" if that was not recorded."""

    installed: bool
    sha256: str = ""


class FetchedPackage(Fact[FetchedState]):
    """A package that was downloaded from a URL; `folder` has the recorded sha256."""

    def command(self, package: str, folder: str) -> StringCommand:
        """Ask for the package and its recorded sha256."""
        return ask(
            "dpkg-query -W -f='${db:Status-Abbrev}\\n' \"$1\" 2>/dev/null | cut -c2 | sed 's/^i$/installed/'\n"
            'if [ -e "$2/$1" ]; then cat "$2/$1"; fi',
            package,
            folder,
        )

    def read(self, lines: list[str]) -> FetchedState:
        """Read the answer."""
        sums = [line for line in lines if len(line) == 64]
        return FetchedState("installed" in lines, sums[0] if sums else "")
