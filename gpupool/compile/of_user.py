"""Replace placeholders such as {user} and {account[0]} by shell variables such as gpupool_user."""

import re
import shlex

from gpupool.cluster.schema.base import PLACEHOLDER


def shell_word(text: str) -> str:
    """Return a text as a word of a shell: placeholders become variables, all else is quoted."""
    parts, end = [], 0
    for match in PLACEHOLDER.finditer(text):
        if match.start() > end:
            parts.append(shlex.quote(text[end : match.start()]))
        parts.append(f'"{_first(match[1])}"' if match[2] else f'"$gpupool_{match[1]}"')
        end = match.end()
    return "".join([*parts, shlex.quote(text[end:])] if text[end:] else parts)


def for_double_quotes(path: str) -> str:
    """Return a path with shell variables for its placeholders. The caller puts it between double quotes.

    Nothing is escaped: the rest of the path must not contain characters that a shell interprets there.
    """
    return PLACEHOLDER.sub(_variable, path)


def _variable(match: re.Match[str]) -> str:
    return _first(match[1]) if match[2] else f"${{gpupool_{match[1]}}}"


def _first(name: str) -> str:
    # The first character of the value; empty if the value is empty.
    return f'${{gpupool_{name}%"${{gpupool_{name}#?}}"}}'
