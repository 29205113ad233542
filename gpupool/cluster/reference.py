"""The page about the inventory language, made from the commented example: comments become prose, YAML stays YAML."""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

# Files in the order in which a new reader needs them; all others come last, by name.
ORDER = ("cluster", "nodes", "labs", "partitions", "storage", "software", "access", "testbed")

_PROSE = re.compile(r"#( |$)")
_SWITCHED_OFF = re.compile(r"^([ ]*)#(?=\S)", re.MULTILINE)
_NOTE = "<!-- Made from the files in inventory/example by script/docs: change them, not this page. -->"


def page(example_dir: Path) -> str:
    """Return the page as Markdown.

    In the example, `# text` at the left edge is prose, the first line of a file its heading; everything else is YAML.
    """
    files = sorted(example_dir.glob("*.yml"), key=_rank)
    return "\n\n".join([_NOTE, *(part for index, file in enumerate(files) for part in _section(file, index))]) + "\n"


def switched_on(text: str) -> str:
    """Return the YAML of the example with its switched-off keys (`#key:`, without a blank after `#`) in use."""
    return _SWITCHED_OFF.sub(r"\1", text)


def _rank(file: Path) -> tuple[int, str]:
    return (ORDER.index(file.stem) if file.stem in ORDER else len(ORDER), file.name)


def _section(file: Path, index: int) -> Iterator[str]:
    heading, *lines = file.read_text(encoding="utf-8").splitlines()
    yield f"{'##' if index else '#'} {heading.removeprefix('#').strip()}"
    yield f"*{file.name}*"
    for is_prose, run in groupby(lines, key=lambda line: bool(_PROSE.match(line))):
        text = "\n".join(line[2:] if is_prose else line for line in run).strip("\n")
        if text:
            yield text if is_prose else f"```yaml\n{text}\n```"
