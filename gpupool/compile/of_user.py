"""Texts with placeholders of a user, as a shell reads them: its variables are gpupool_user, gpupool_account, …"""

import re
import shlex

from gpupool.cluster.schema.base import PLACEHOLDER


def in_shell(text: str) -> str:
    """Return a text as a word of a shell: its placeholders are variables, all else is plain."""
    parts, end = [], 0
    for found in PLACEHOLDER.finditer(text):
        if found.start() > end:
            parts.append(shlex.quote(text[end : found.start()]))
        parts.append(f'"{_first(found[1])}"' if found[2] else f'"$gpupool_{found[1]}"')
        end = found.end()
    return "".join([*parts, shlex.quote(text[end:])] if text[end:] else parts)


def in_quotes(path: str) -> str:
    """Return a path that has no sign of a shell's as it stands between double quotes."""
    return PLACEHOLDER.sub(_variable, path)


def _variable(found: re.Match[str]) -> str:
    return _first(found[1]) if found[2] else f"${{gpupool_{found[1]}}}"


def _first(name: str) -> str:
    # the value less all but its first letter; nothing where it is empty
    return f'${{gpupool_{name}%"${{gpupool_{name}#?}}"}}'
