"""Change, mask and compare keys in JSON, and in files whose lines have one or several `Key=value` pairs."""

import difflib
import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

Change = Callable[[str | None, str], str | None]


def changed(text: str, line: str, word: str | None, change: Change) -> tuple[str, bool]:
    """Return the text with a key changed, or added if it is missing, and whether it was present.

    `word` is a key within lines that begin with `line`. `change` gets the old value, and the first value of the line;
    without `word`, it gets the number of earlier lines with this key instead.
    """
    seen = 0
    lines: list[str] = []
    for old in text.splitlines():
        key, _, value = old.partition("=")
        if key.strip().lower() != line.lower():
            lines.append(old)
        elif word is None:
            new = change(value.strip(), str(seen))
            seen += 1
            lines += [] if new is None else [f"{key}={new}"]
        else:
            tokens, present = _word(old.split(), word, change)
            seen += present
            lines.append(" ".join(tokens))
    if word is None and not seen and (new := change(None, "0")) is not None:
        lines.append(f"{line}={new}")
    return "".join(f"{line}\n" for line in lines), seen > 0


def _word(tokens: list[str], word: str, change: Change) -> tuple[list[str], bool]:
    name = tokens[0].partition("=")[2]
    matching = [token for token in tokens if token.partition("=")[0].lower() == word.lower()]
    new = change(matching[0].partition("=")[2] if matching else None, name)
    kept = [token for token in tokens if token not in matching]
    if new is None:
        return kept, bool(matching)
    place = tokens.index(matching[0]) if matching else len(kept)
    return [*kept[:place], f"{word}={new}", *kept[place:]], bool(matching)


def changed_json(text: str, key: str, change: Change) -> tuple[str, bool]:
    """Return JSON with a number, or all numbers of a mapping, changed; and whether the key was present."""
    data = json.loads(text)
    seen = key in data
    if isinstance(data.get(key), dict):
        data[key] = {name: _number(change(str(value), name)) for name, value in data[key].items()}
    elif seen:
        data[key] = _number(change(str(data[key]), "0"))
    return _json(data), seen


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _json(data: Any) -> str:
    return json.dumps(data, indent=1) + "\n"


def masked(text: str, keys: Collection[tuple[str, str | None]]) -> list[str]:
    """Return the lines without these keys; a key is (line, word) as in `changed`, in upper or lower case."""
    if text.startswith("{"):
        gone = {line for line, _ in keys}
        return _json({key: value for key, value in json.loads(text).items() if key not in gone}).splitlines()
    whole = {line.lower() for line, word in keys if word is None}
    parts = {(line.lower(), word.lower()) for line, word in keys if word is not None}
    lines = []
    for line in text.splitlines():
        key = line.partition("=")[0].strip().lower()
        if key in whole:
            continue
        if any(key == other for other, _ in parts):
            line = " ".join(word for word in line.split() if (key, word.partition("=")[0].lower()) not in parts)
        lines.append(line)
    return lines


def differing(production: list[str], twin: list[str]) -> Iterator[str]:
    """Yield a message for each line that only one of them has."""
    for line in difflib.ndiff(production, twin):
        if line.startswith("- "):
            yield f"production has `{line[2:]}`"
        elif line.startswith("+ "):
            yield f"the twin has `{line[2:]}`"
