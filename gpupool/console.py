"""Rich's console, which prints every string literally; `gpupool.terminal` imports it when something is printed."""

from typing import Any

from rich.console import Console
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from gpupool.terminal import plain

_WIDEST = 100_000  # columns


class LiteralConsole(Console):
    """A console that prints every string literally, also in tables, and wraps no line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, "highlight": False, "soft_wrap": True, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Return the text that is printed for a string; rich calls this for each string."""
        return super().render_str(plain(text), **{**options, "markup": False, "emoji": False})

    def print_table(self, table: Table) -> None:
        """Print a table without a cut: at its full width, or in a narrower terminal, with lines broken inside of cells.

        Rich itself would cut it at the terminal's width, or at 80 columns in a pipe.
        """
        room = self.options.update(width=_WIDEST)
        width = self.measure(table, options=room).maximum
        if self.is_terminal and width > self.width:
            width = self.width
            for column in table.columns:
                column.overflow = "fold"
        self.print(Segments(list(self.render(table, room.update(width=width)))), end="")
