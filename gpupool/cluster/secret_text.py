"""Lines of a file that look like a secret: an inventory is in git, and plans show its files."""

import re
from collections.abc import Iterator

_ANYWHERE = (
    (re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----"), "a private key"),
    (re.compile(r"\$(?:1|5|6|y|2[aby]|gy|7)\$[^\s:$]*\$?[./A-Za-z0-9$]{20,}"), "a hash of a password"),
    (re.compile(r"\b(?:AKIA[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{30,}|glpat-[A-Za-z0-9_-]{20,})"), "a token"),
    (re.compile(r"[a-z]+://[^/\s:@]+:(?![$%{<])[^/\s:@]+@"), "an address with a password"),
)
# key = value, also in JSON and YAML; a value that switches something, names a file or is filled in later is no secret
_VALUE = re.compile(
    r"^\s*[\"']?(?:[\w.-]+ ){0,3}?[\w.-]*"
    r"(?P<key>password|passphrase|passwd|passwort|secret|token|(?:api|access|private|shared|pre-?shared)[_-]?key|bindpw)"
    r"[\"']?\s*[=:]\s*(?P<value>\S.*?)\s*[,;]?\s*$",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"[\"']?(?:|yes|no|true|false|on|off|none|null|0|1|ask|prompt|required|optional|files\b.*|[/$%{<~].*)[\"']?",
    re.IGNORECASE,
)


def troubles(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Yield the line, message and hint of each line that looks like a secret."""
    for number, line in enumerate(text.splitlines(), 1):
        if kind := _kind(line):
            yield number, f"looks like {kind}", "put secrets on nodes without gpupool, which shows files in plans"


def _kind(line: str) -> str | None:
    for pattern, kind in _ANYWHERE:
        if pattern.search(line):
            return kind
    if line.lstrip().startswith(("#", ";", "//")):
        return None
    match = _VALUE.match(line)
    return f"a {match['key'].lower()}" if match and not _HARMLESS.fullmatch(match["value"]) else None
