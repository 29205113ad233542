"""Backups that a node has, and the data that a restore would replace."""

import json
from dataclasses import dataclass
from typing import Any

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

#: This file of a node has the path of the backup from which its database was restored.
RESTORED = "/var/lib/gpupool/restored"
_LOOK = shell_file(__package__, "backups.sh")


@dataclass(frozen=True)
class BackupsState(Shown):
    """Paths of backups by kind, the newest first; the number of `jobs` in the database, None without MariaDB.

    `restored` is the backup of the last restore, "" for none.
    """

    backups: dict[str, tuple[str, ...]]
    jobs: int | None = None
    restored: str = ""


class Backups(Fact[BackupsState]):
    """The backups, listed by the node's backup program, and the number of jobs in slurmdbd's database."""

    def command(self, program: str) -> StringCommand:
        """Ask for the backups and the number of jobs."""
        return ask(_LOOK, program, RESTORED)

    def read(self, lines: list[str]) -> BackupsState:
        """Read the answer."""
        listed: dict[str, Any] = json.loads(next((line for line in lines if line.startswith("{")), "{}"))
        paths = {kind: tuple(backup["path"] for backup in its["backups"]) for kind, its in listed.items()}
        values = dict(line.split(" ", 1) for line in lines if line.startswith(("jobs ", "restored ")))
        return BackupsState(paths, int(values["jobs"]) if "jobs" in values else None, values.get("restored", ""))
