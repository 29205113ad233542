"""How text from elsewhere is shown on a terminal: as it stands, never as markup, an emoji, or orders to the terminal.

Names and reasons come from inventories, nodes and their users. What `Screen` prints is safe as it is; where a part of
a line has a style of its own, or the console may be another, `styled` makes the text.
"""

from typing import Any

from rich.console import Console
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

_WIDEST = 100_000  # columns


def plain(text: str) -> str:
    r"""Return the text with every control character (colours, bells, changes of direction) as \x1b, \u202e."""
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" else sign.encode("unicode_escape").decode() for sign in text
    )


def styled(*parts: str | tuple[str, str]) -> Text:
    """Return one text of strings and of (string, style)."""
    return Text.assemble(*(plain(it) if isinstance(it, str) else (plain(it[0]), it[1]) for it in parts))


class Screen(Console):
    """A console that takes every string literally, those in tables too, and breaks no line."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, "highlight": False, "soft_wrap": True, **how})

    def render_str(self, text: str, **how: Any) -> Text:
        """Make what is printed of a string: rich comes by here with each."""
        return super().render_str(plain(text), **{**how, "markup": False, "emoji": False})

    def whole(self, table: Table) -> None:
        """Print a table in all its width: rich would cut off what the terminal, or a pipe's 80 columns, cannot hold."""
        room = self.options.update(width=_WIDEST)
        width = self.measure(table, options=room).maximum
        self.print(Segments(list(self.render(table, room.update(width=width)))), end="")
