"""The entities that slurmdbd had before gpupool first changed them."""

from pyinfra.api.command import StringCommand

from gpupool.facts.accounting import AccountingState, read
from gpupool.facts.base import Fact
from gpupool.facts.former import BEFORE
from gpupool.facts.script import ask

#: The answer of `gpupool.facts.accounting`, kept before the first change; readable by root alone.
ROWS = f"{BEFORE}/accounting.rows"


class FormerAccounting(Fact[list[AccountingState]]):
    """The kept entities, once; none if gpupool has changed nothing, or if there was no such cluster."""

    def command(self) -> StringCommand:
        """Print the kept answer."""
        return ask('[ ! -s "$1" ] || cat -- "$1"', ROWS)

    def read(self, lines: list[str]) -> list[AccountingState]:
        """Read the kept answer."""
        state = read(lines)
        return [state] if state else []
