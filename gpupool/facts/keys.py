"""Public keys that the inventory has had, by home: the record on the node that creates the homes."""

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask

#: Keys that gpupool has added to homes, one per line: HOME, a tab, KEY.
RECORD = "/var/lib/gpupool/keys"


class RecordedKeys(Fact[list[tuple[str, str]]]):
    """The homes and keys in the record."""

    def command(self, record: str = RECORD) -> StringCommand:
        """Print the record."""
        return ask('[ ! -e "$1" ] || cat -- "$1"', record)

    def read(self, lines: list[str]) -> list[tuple[str, str]]:
        """Read the answer."""
        return [(home, key) for home, tab, key in (line.partition("\t") for line in lines) if tab]
