"""Values of slurm.conf as the language writes them; ValueError where it has no word for one."""

import re

from gpupool.adopt.slurm_conf import Entry
from gpupool.cluster.units import format_duration, format_size
from gpupool.slurm.releases import OPTIONS_BEFORE, within
from gpupool.slurm.times import seconds
from gpupool.slurm.tres import amount

_SOCKET = re.compile(r"(?:/[\w.-]+){2,}")


def whole(text: str) -> int:
    """Return a whole number."""
    if not text.isdecimal() or len(text) > 18:
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def size(text: str) -> str:
    """Return an amount of memory, in MiB without a unit, as a size: 4096 is 4G."""
    mib = amount("mem", text)
    if mib != int(mib) or mib <= 0:
        raise ValueError(f"{text!r} is not a whole number of MiB")
    return format_size(int(mib))


def span(text: str) -> str | None:
    """Return a duration in minutes or Slurm's other forms; None without a limit."""
    count = seconds(text)
    return None if count is None else format_duration(count)


def in_seconds(text: str) -> str:
    """Return a number of seconds as a duration."""
    return format_duration(whole(text))


def options(text: str) -> list[str]:
    """Return the items of a list with commas."""
    return [item.strip() for item in text.split(",") if item.strip()]


def readable(key: str, text: str, release: str) -> str:
    """Return a value of a setting without the options that a release refuses; the key is in lower case."""
    kept = [item for item in options(text) if within(release, "", OPTIONS_BEFORE.get((key, item.lower()), ""))]
    return text if kept == options(text) else ",".join(kept)


def is_secret(key: str, value: str) -> bool:
    """Return whether a setting has a password; with munge, AccountingStoragePass is the path of a socket."""
    return key.endswith("pass") and not _SOCKET.fullmatch(value)


def is_no_default_time(default: str, longest: str) -> bool:
    """Return whether a partition's DefaultTime is the same as none, which is MaxTime: both are unlimited."""
    return (default.lower(), longest.lower()) == ("unlimited", "unlimited")


def key_set(text: str) -> frozenset[str]:
    """Return the keys in a text, which has blanks between them."""
    return frozenset(text.split())


def number(entry: Entry, *keys: str) -> int | None:
    """Return a number of a line by the first of these keys that it has; None if it has none."""
    text = entry.value(*keys)
    return None if text is None else whole(text)
