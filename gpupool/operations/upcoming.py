"""The files that this run will write: in a plan they are not on the node yet, and later operations read them here.

So a plan can show "restart slurmctld: /etc/slurm/slurm.conf changes" before anything is written.
"""

from typing import Any
from weakref import WeakKeyDictionary

from gpupool.operations.ambient import this_host

#: The value for a file whose content is not known yet (a key that will be created).
UNKNOWN = "?"
#: The value for a file that will not exist.
ABSENT = "-"

_sums: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
_texts: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()


def announce(path: str, sha256: str, text: str | None = None) -> None:
    """Record that this run will write a file with that sha256 (or UNKNOWN, ABSENT) at `path` of the current host."""
    _sums.setdefault(this_host(), {})[path] = sha256
    if text is not None:
        _texts.setdefault(this_host(), {})[path] = text


def announced() -> dict[str, str]:
    """Return path -> sha256 of the announced files of the current host."""
    return dict(_sums.get(this_host(), {}))


def text_of(path: str) -> str | None:
    """Return the announced text of a path of the current host; None if there is none."""
    return _texts.get(this_host(), {}).get(path)
