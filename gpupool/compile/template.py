"""Templates to text; they stand in `templates/`, named as the files they become."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parents[1] / "templates"


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,  # configuration files, not pages
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def fill(name: str, **values: object) -> str:
    """Return the text of a template with these values; a value that is missing raises."""
    return _environment().get_template(f"{name}.j2").render(**values)
