"""Files that this run will write: while a plan is made they are not on the node yet, and later operations ask here.

So a plan can say "restart slurmctld: /etc/slurm/slurm.conf changes" before anything was written.
"""

from typing import Any
from weakref import WeakKeyDictionary

from gpupool.operations.ambient import this_host

#: Stands for a file that will be there with a content nobody knows yet (a key that is still to be made).
UNKNOWN = "?"
#: Stands for a file that will not be there.
ABSENT = "-"

_sums: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
_texts: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()


def announce(path: str, sha256: str, text: str | None = None) -> None:
    """Say that this run leaves a file with that sha256 (or UNKNOWN, ABSENT) at `path` of the current host."""
    _sums.setdefault(this_host(), {})[path] = sha256
    if text is not None:
        _texts.setdefault(this_host(), {})[path] = text


def announced() -> dict[str, str]:
    """Return path -> sha256 of what was announced for the current host."""
    return dict(_sums.get(this_host(), {}))


def text_of(path: str) -> str | None:
    """Return the text that was announced for a path of the current host; None where none was."""
    return _texts.get(this_host(), {}).get(path)
