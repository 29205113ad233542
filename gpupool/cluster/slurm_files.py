"""The site's own plugins and programs in the folder `slurm`: known names, and lines that Slurm accepts."""

import re
from collections.abc import Iterator

from gpupool.slurm import dumps

NAMES = ("accounting.cfg", "gres.conf", "job_submit.lua", "plugstack.conf", "topology.conf")
_PROGRAM = re.compile(r"(prolog|epilog)-[A-Za-z0-9][A-Za-z0-9_-]*")
_SPANK = re.compile(r"(required|optional)\s+\S.*")

Trouble = tuple[int, str, str | None]


def troubles(name: str, text: str) -> Iterator[Trouble]:
    """Yield the line, message and hint of each mistake in a file of the folder."""
    program = _PROGRAM.fullmatch(name)
    if name not in NAMES and not program:
        yield 1, "gpupool knows no file of this name", f"use {', '.join(NAMES)}, prolog-NAME or epilog-NAME"
        return
    for number, line in enumerate(text.split("\n"), 1):
        if odd := next((sign for sign in line if ord(sign) < 32 and sign != "\t"), None):
            yield number, f"contains {odd!r}", "write plain text with line feeds"
            return
    if name == "accounting.cfg":
        yield from ((trouble.line, trouble.message, None) for trouble in dumps.read(text)[1])
    if not text.endswith("\n"):
        yield text.count("\n") + 1, "the last line has no line feed", "add one"
    if program and not text.startswith("#!/"):
        yield 1, "has no interpreter line", "begin with #!/bin/sh"
    for number, line in lines(text) if name == "plugstack.conf" else ():
        if not _SPANK.fullmatch(line):
            hint = "write its lines here: nodes do not have the file" if line.startswith("include") else None
            yield number, "is not `required PLUGIN` or `optional PLUGIN`", hint


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()
