"""The lines of Slurm's files, as src/common/parse_config.c reads them: comments, continuations and pairs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpupool.cluster.complaints import Place

# a value ends at a blank, unless it is in double quotes; single quotes have no meaning
_PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)\s*([-*+/]?)=\s*(?:"([^"]*)"|([^\s"]\S*))(?=\s|$)')
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Fact:
    """A pair of a line: the key in the file's spelling, its value without quotes, and its place."""

    key: str
    value: str
    place: Place


@dataclass(frozen=True)
class Line:
    """A line without its comment, with the lines that continue it; `place` is the first of them."""

    place: Place
    text: str

    @property
    def included(self) -> str | None:
        """The file that an Include names; None for any other line."""
        match = _INCLUDE.fullmatch(self.text)
        return match[1] if match else None

    def pairs(self) -> tuple[list[Fact], str]:
        """Return the pairs of the line, and the rest that is no pair, which Slurm refuses."""
        facts, at = [], 0
        while match := _PAIR.match(self.text, at):
            key, operator, inside, bare = match.groups()
            value = bare if inside is None else inside
            facts.append(Fact(key, f"{operator}={value}" if operator else value, self.place))
            at = match.end()
        return facts, self.text[at:].strip()


def lines(name: str, text: str) -> Iterator[Line]:
    """Yield the lines of a file that have more than a comment. A comment ends before the next physical line."""
    parts: list[str] = []
    for number, physical in enumerate([*text.split("\n"), ""], 1):
        bare, goes_on = _continued(_uncommented(physical.rstrip("\r")))
        parts.append(bare)
        if goes_on:
            continue
        whole = "".join(parts)
        if whole.strip():
            yield Line(Place(name, number - len(parts) + 1), _unescaped(whole))
        parts.clear()


def _uncommented(text: str) -> str:
    """Return a line up to its first `#` that has no odd number of backslashes before it."""
    if "\\" not in text:
        return text.partition("#")[0]
    odd = False
    for at, sign in enumerate(text):
        if sign == "#" and not odd:
            return text[:at]
        odd = sign == "\\" and not odd
    return text


def _continued(text: str) -> tuple[str, bool]:
    """Return a line without the backslash at its end, and whether it had an odd number of them."""
    bare = text.rstrip()
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return (bare[:-backslashes], True) if backslashes % 2 else (text, False)


def _unescaped(text: str) -> str:
    r"""Return a text whose escapes, such as `\#`, are the signs behind their backslashes."""
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text
