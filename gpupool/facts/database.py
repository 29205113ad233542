"""What slurmdbd's MariaDB has: its database and its user, asked over the unix socket as root."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import FactBase

from gpupool.facts.script import ask, whole
from gpupool.shell import shell_file

_QUERY = shell_file(__package__, "database.sh")


@dataclass(frozen=True)
class DatabaseState:
    """Whether the database is there, how its user proves who it is ("" for no such user), and whether it may work."""

    database: bool = False
    plugin: str = ""
    granted: bool = False


class SocketDatabase(FactBase[DatabaseState | None]):
    """The state of one database and its user. None when the node did not answer."""

    def command(self, database: str, owner: str) -> StringCommand:
        """Ask MariaDB; one that does not run or is not installed has nothing."""
        return ask(_QUERY, database, owner)

    def process(self, output: list[str]) -> DatabaseState | None:
        """Read the answer."""
        lines = whole(output) if output else []
        if lines is None:
            return None
        fields = dict(line.split("\t", 1) for line in lines if "\t" in line)
        return DatabaseState("database" in fields, fields.get("user", ""), "grant" in fields)
