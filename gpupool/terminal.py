"""How text from elsewhere is shown on a terminal: literally, never as markup, an emoji, or orders to the terminal.

Names and reasons come from inventories, nodes and their users. `Screen` prints any string safely; where a part of
a line has a style, or the console may be another, `styled` makes the text. Rich is imported when something is printed:
a command that completes a word or prints JSON does not wait for it.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.status import Status
    from rich.table import Table
    from rich.text import Text

    from gpupool.console import LiteralConsole


def plain(text: str) -> str:
    r"""Return the text with every control character (colours, bells, changes of direction) as \x1b, \u202e."""
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" else sign.encode("unicode_escape").decode() for sign in text
    )


def styled(*parts: str | tuple[str, str]) -> "Text":
    """Return one text of strings and of (string, style)."""
    from rich.text import Text

    return Text.assemble(*(plain(part) if isinstance(part, str) else (plain(part[0]), part[1]) for part in parts))


class Screen:
    """Standard output, or standard error, for people; its console is made at the first use."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    @cached_property
    def console(self) -> "LiteralConsole":
        """The console, for what of rich needs one."""
        from gpupool.console import LiteralConsole

        return LiteralConsole(**self._options)

    @property
    def is_terminal(self) -> bool:
        """Whether a person may look at it."""
        return self.console.is_terminal

    @property
    def in_colour(self) -> bool:
        """Whether styles are shown."""
        return self.is_terminal and not self.console.no_color

    def print(self, *parts: Any, **options: Any) -> None:
        """Print as rich's `Console.print` does, with strings taken literally."""
        self.console.print(*parts, **options)

    def whole(self, table: "Table") -> None:
        """Print a table in all its width."""
        self.console.whole(table)

    def status(self, text: "str | Text") -> "Status":
        """Return a line that changes while its `with` block runs."""
        return self.console.status(text)
