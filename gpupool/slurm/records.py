"""Records of `Key=value` words: the output of `scontrol show`, with one line for each (`-o`) or many, and slurm.conf.

Slurm does not quote values. Free text (a reason, a comment) may contain ` State=IDLE`, so a parser names the keys of
free text, and the keys that scontrol prints after each. In the many-line form free text extends to the end of its line.
If a key occurs twice, the first one counts, because free text is after the keys that it could fake. scontrol prints the
newlines of a comment. In the one-line form they cut off the record, so gpupool uses the many-line form.
"""

import re
from collections.abc import Collection, Mapping
from typing import TypeAlias

#: The keys of free text, each with the keys that may follow it in the one-line form.
FreeText: TypeAlias = Mapping[str, Collection[str]]
_KEY = re.compile(r"(?:^|\s+)([A-Za-z][\w:/-]*)=", re.ASCII)


def read(answer: str | bytes, head: str, free: FreeText) -> list[dict[str, str]]:
    """Return the records in scontrol's output, each of which begins with the key `head`.

    Bytes that are not UTF-8 become the replacement character. Only a newline ends a line.
    """
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    lines = text.split("\n")
    # the second line of the many-line form is indented, and its first line has no free text, which may have a newline
    if not "".join(lines[1:2]).startswith("   ") or free.keys() & pairs(lines[0]).keys():
        return [_words(line, free, to_the_end=False) for line in lines if line.startswith(f"{head}=")]
    records: list[dict[str, str]] = []
    before = ""
    for line in lines:
        # only after an empty line: within a record such a line is a part of a value
        if line.startswith(f"{head}=") and not before:
            records.append(_words(line, free, to_the_end=True))
        elif line.startswith("   ") and records:
            records[-1] = _words(line, free, to_the_end=True) | records[-1]
        before = line
    return records


def pairs(line: str) -> dict[str, str]:
    """Return the keys and values of a line without free text; a value extends, with its blanks, to the next key."""
    return _words(line, {}, to_the_end=False)


def names(value: str) -> tuple[str, ...]:
    """Return the names in a value such as `a,b`; none for Slurm's words for an empty value."""
    return () if value in ("(null)", "None", "N/A") else tuple(filter(None, value.split(",")))


def _words(line: str, free: FreeText, *, to_the_end: bool) -> dict[str, str]:
    values: dict[str, str] = {}
    match = _KEY.search(line)
    while match:
        key, start = match[1], match.end()
        if key not in free:
            following = _KEY.search(line, start)
        elif to_the_end:
            following = None
        else:
            following = _next_of(free[key], line, start)
        values.setdefault(key, line[start : following.start() if following else len(line)].strip())
        match = following
    return values


def _next_of(keys: Collection[str], line: str, start: int) -> re.Match[str] | None:
    return next((match for match in _KEY.finditer(line, start) if match[1] in keys), None)
