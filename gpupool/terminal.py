"""Print untrusted text on a terminal exactly as it is, never as markup, emoji or control characters.

Names and reasons come from inventories, nodes and their users. `Screen` prints any string safely; `styled` returns a
text of Rich, with styles or for another console. Rich is only imported when something is printed, so that
shell completion and JSON output do not wait for it.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.status import Status
    from rich.table import Table
    from rich.text import Text

    from gpupool.console import LiteralConsole


def plain(text: str) -> str:
    r"""Return the text with control characters (colours, bells, marks of direction) escaped, as \x1b or \u202e."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else character.encode("unicode_escape").decode()
        for character in text
    )


def styled(*parts: str | tuple[str, str]) -> "Text":
    """Return one text from strings and pairs (string, style)."""
    from rich.text import Text

    return Text.assemble(*(plain(part) if isinstance(part, str) else (plain(part[0]), part[1]) for part in parts))


class Screen:
    """Standard output, or standard error, for people; its console is created at the first use."""

    def __init__(self, **console_options: Any) -> None:
        self._console_options = console_options

    @cached_property
    def console(self) -> "LiteralConsole":
        """The console, for parts of Rich that need one."""
        from gpupool.console import LiteralConsole

        return LiteralConsole(**self._console_options)

    @property
    def is_terminal(self) -> bool:
        """Whether the output is a terminal."""
        return self.console.is_terminal

    @property
    def in_colour(self) -> bool:
        """Whether styles are shown."""
        return self.is_terminal and not self.console.no_color

    def print(self, *parts: Any, **options: Any) -> None:
        """Print like Rich's `Console.print`, but strings literally."""
        self.console.print(*parts, **options)

    def print_table(self, table: "Table") -> None:
        """Print a table without a cut; on a narrow terminal, the lines of its cells are broken."""
        self.console.print_table(table)

    def status(self, text: "str | Text") -> "Status":
        """Return a status line that is shown while its `with` block runs."""
        return self.console.status(text)
