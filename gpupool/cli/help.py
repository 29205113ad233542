"""The help of commands as it is shown: paragraphs that fit any width, and flags and arguments without a type."""

from collections.abc import Iterable
from typing import Any

#: The first line of a paragraph with examples, one command line each.
EXAMPLES = "Examples:"


def unwrapped(text: str | None) -> str | None:
    """Return a help text without the line breaks of its paragraphs, which typer would keep; examples keep theirs."""
    if text is None:
        return None
    return "\n\n".join(
        _examples(part) if part.startswith(EXAMPLES) else " ".join(part.split()) for part in text.strip().split("\n\n")
    )


def _examples(text: str) -> str:
    """Return examples with their indentation inside of markup: typer would remove it."""
    first, *lines = text.splitlines()
    return "\n".join([first, *(f"[not dim]  {line.strip()}[/]" for line in lines)])


def hide_types(parameters: Iterable[Any]) -> None:
    """Remove the types of flags and arguments from a help: typer would show `<bool>` and `<path>`."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", parameter.param_type_name == "argument"):
            parameter.display_type_rich = lambda ctx: ""
