"""Convert placeholders of a user in texts to the shell variables gpupool_user, gpupool_account, …"""

import re
import shlex

from gpupool.cluster.schema.base import PLACEHOLDER


def in_shell(text: str) -> str:
    """Return a text as a word of a shell: placeholders become variables, all else is quoted."""
    parts, end = [], 0
    for match in PLACEHOLDER.finditer(text):
        if match.start() > end:
            parts.append(shlex.quote(text[end : match.start()]))
        parts.append(f'"{_first(match[1])}"' if match[2] else f'"$gpupool_{match[1]}"')
        end = match.end()
    return "".join([*parts, shlex.quote(text[end:])] if text[end:] else parts)


def in_quotes(path: str) -> str:
    """Return a path for use between double quotes; it must not contain other characters that a shell interprets."""
    return PLACEHOLDER.sub(_variable, path)


def _variable(match: re.Match[str]) -> str:
    return _first(match[1]) if match[2] else f"${{gpupool_{match[1]}}}"


def _first(name: str) -> str:
    # The first character of the value; empty if the value is empty.
    return f'${{gpupool_{name}%"${{gpupool_{name}#?}}"}}'
