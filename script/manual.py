"""The manual pages of the command, from the help texts: `python script/manual.py` writes man/gpupool*.1.

The wheel has them in share/man/man1, where pip and pipx put them beside the command.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from typer.main import get_command

from gpupool.cli.app import COMMANDS, app, imported
from gpupool.cli.help import EXAMPLES

FOLDER = Path(__file__).parents[1] / "man"
#: Signs that troff would take for commands, or show as other signs.
_LITERAL = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
_MARKUP = re.compile(r"\[/?(?:not dim)?\]")


def pages() -> dict[str, str]:
    """Return the manual pages by their file names: one for `gpupool`, and one for each command."""
    whole = get_command(app)
    written = {"gpupool.1": _page("gpupool", whole, COMMANDS)}
    return written | {f"gpupool-{name}.1": _page(f"gpupool {name}", imported(name), {}) for name in COMMANDS}


def _page(name: str, command: Any, commands: Mapping[str, str]) -> str:
    """Return the page of a command: it has all of its subcommands, or only lists `commands`, which have own pages."""
    title = name.replace(" ", "-")
    first, *paragraphs, examples = _parts(command)
    return "\n".join([
        f'.TH "{title.upper()}" "1" "" "gpupool" "gpupool"',
        ".SH NAME",
        rf"{as_troff(title)} \- {as_troff(first.partition('. ')[0].rstrip('.'))}",
        ".SH SYNOPSIS",
        *_synopsis(name, command),
        ".SH DESCRIPTION",
        *_paragraphs([first, *paragraphs]),
        *_commands(commands),
        *_options(name, command, ".SH OPTIONS"),
        *_examples(examples, ".SH EXAMPLES"),
        *([] if commands else _subcommands(name, command)),
        ".SH SEE ALSO",
        *(["The folder docs of the source, which begins with docs/README.md."] if commands else [r"\fBgpupool\fR(1)"]),
        "",
    ])  # fmt: skip


def _commands(commands: Mapping[str, str]) -> Iterator[str]:
    if commands:
        yield from (".SH COMMANDS", *_listed({f"gpupool-{name}(1)": text for name, text in commands.items()}))


def _subcommands(parent: str, command: Any) -> Iterator[str]:
    for below in getattr(command, "commands", {}).values():
        name = f"{parent} {below.name}"
        *paragraphs, examples = _parts(below)
        yield f'.SH "{name.upper()}"'
        yield from _synopsis(name, below)
        yield from (".PP", *_paragraphs(paragraphs))
        yield from _options(name, below, ".PP")
        yield from _examples(examples, ".PP")


def _parts(command: Any) -> list[str]:
    """Return the paragraphs of a help text; the last one has the examples, or is empty."""
    parts = [_MARKUP.sub("", part) for part in command.help.split("\n\n")]
    return parts if parts[-1].startswith(EXAMPLES) else [*parts, ""]


def _synopsis(name: str, command: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=name, **command.context_settings)
    yield rf"\fB{as_troff(name)}\fR {as_troff(' '.join(command.collect_usage_pieces(context)))}"


def _paragraphs(paragraphs: list[str]) -> Iterator[str]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        yield as_troff(" ".join(paragraph.split()))


def _options(name: str, command: Any, heading: str) -> Iterator[str]:
    context = command.context_class(command, info_name=name, **command.context_settings)
    yield heading
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            names, text = record
            yield from _listed({parameter.metavar if parameter.param_type_name == "argument" else names: text})


def _listed(entries: Mapping[str, str]) -> Iterator[str]:
    for name, text in entries.items():
        yield from (".TP", rf"\fB{as_troff(name)}\fR", as_troff(" ".join(text.split())))


def _examples(examples: str, heading: str) -> Iterator[str]:
    if examples:
        yield from (heading, ".nf", *(as_troff(line.strip()) for line in examples.splitlines()[1:]), ".fi")


def as_troff(text: str) -> str:
    """Return text as troff shows it literally."""
    escaped = "".join(_LITERAL.get(sign, sign if sign.isascii() else rf"\[u{ord(sign):04X}]") for sign in text)
    return rf"\&{escaped}" if escaped.startswith(".") else escaped


if __name__ == "__main__":
    present = pages()
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.1"):
        old.unlink()
    for name, page in present.items():
        (FOLDER / name).write_text(page)
