"""The Slurm that the site has put on a node: its release, and the slurm.conf that it reads."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

PATIENCE = 5  # seconds; a running slurmctld answers in milliseconds

_LOOK = shell_file(__package__, "slurm_of_site.sh")


@dataclass(frozen=True)
class SlurmOfSite(Shown):
    """The version, "" without Slurm; whether slurm.conf exists; `reads`, the path if slurmctld has read another one."""

    version: str = ""
    has_conf: bool = False
    reads: str = ""


class SiteSlurm(Fact[SlurmOfSite]):
    """The Slurm below a prefix, in one command."""

    def command(self, prefix: str, conf: str) -> StringCommand:
        """Ask for the Slurm below `prefix`, and its slurm.conf at the path `conf`."""
        return ask(_LOOK, prefix, conf, str(PATIENCE))

    def read(self, lines: list[str]) -> SlurmOfSite:
        """Read the answer."""
        rows = dict(line.split("\t", 1) for line in lines if "\t" in line)
        return SlurmOfSite(rows.get("release", ""), "file" in lines, rows.get("reads", ""))
