"""Texts with placeholders of a user, as a shell reads them: its variables are gpupool_user, gpupool_account, …"""

import re
import shlex

from gpupool.cluster.schema.base import PLACEHOLDER


def in_shell(text: str) -> str:
    """Return a text as a word of a shell: its placeholders are variables, all else is plain."""
    parts, end = [], 0
    for match in PLACEHOLDER.finditer(text):
        if match.start() > end:
            parts.append(shlex.quote(text[end : match.start()]))
        parts.append(f'"{_first(match[1])}"' if match[2] else f'"$gpupool_{match[1]}"')
        end = match.end()
    return "".join([*parts, shlex.quote(text[end:])] if text[end:] else parts)


def in_quotes(path: str) -> str:
    """Return a path that has no sign of a shell's as it stands between double quotes."""
    return PLACEHOLDER.sub(_variable, path)


def _variable(match: re.Match[str]) -> str:
    return _first(match[1]) if match[2] else f"${{gpupool_{match[1]}}}"


def _first(name: str) -> str:
    # the value less all but its first letter; nothing where it is empty
    return f'${{gpupool_{name}%"${{gpupool_{name}#?}}"}}'
