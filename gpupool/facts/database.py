"""The database and the user of slurmdbd in MariaDB, asked over the Unix socket as root."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_QUERY = shell_file(__package__, "database.sh")


@dataclass(frozen=True)
class DatabaseState(Shown):
    """Whether the database exists, the authentication plugin of its user ("": no user), and whether it has rights."""

    database: bool = False
    plugin: str = ""
    granted: bool = False


class SocketDatabase(Fact[DatabaseState]):
    """The state of one database and its user."""

    def command(self, database: str, owner: str) -> StringCommand:
        """Ask MariaDB; the answer is empty if it does not run or is not installed."""
        return ask(_QUERY, database, owner)

    def read(self, lines: list[str]) -> DatabaseState:
        """Read the answer."""
        fields = dict(line.split("\t", 1) for line in lines if "\t" in line)
        return DatabaseState("database" in fields, fields.get("user", ""), "grant" in fields)
