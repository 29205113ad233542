"""Times as Slurm writes and reads them: durations such as `2-12:30:00`, and moments such as `2026-11-23T16:00:00`.

Durations: slurm.conf(5), MaxTime; sacctmgr(1), MaxWall; squeue(1), %l. Moments: scontrol(1), the environment variable
SLURM_TIME_FORMAT, which is not set where gpupool asks.
"""

import re
from datetime import datetime, tzinfo

#: Slurm's words for a duration without a limit, or that is not set.
NO_LIMIT = frozenset(("", "(null)", "infinite", "invalid", "n/a", "none", "not_set", "partition_limit", "unlimited"))
#: Slurm's words for a moment that has not come, or is not known.
NO_MOMENT = frozenset(("", "(null)", "infinite", "n/a", "none", "not_set", "now", "unknown"))
#: The seconds of a bare number: in slurm.conf and sacctmgr it is minutes.
MINUTE = 60
_DURATION = re.compile(
    r"([0-9]{1,12})-([0-9]{1,12})(?::([0-9]{1,12}))?(?::([0-9]{1,12}))?"
    r"|(?:([0-9]{1,12}):)?([0-9]{1,12}):([0-9]{1,12})|([0-9]{1,12})"
)


def seconds(text: str, bare: int = MINUTE) -> int | None:
    """Return a duration in seconds, None for one without a limit or that is not set; ValueError for other text.

    Forms: days-hours, days-hours:minutes, days-hours:minutes:seconds, hours:minutes:seconds, minutes:seconds, and a
    bare number, which counts `bare` seconds.
    """
    if text.strip().lower() in NO_LIMIT:
        return None
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text[:40]!r} is not a duration of Slurm")
    # the first four are of a duration with days, the next three of one without, the last is the bare number
    parts = [int(part or 0) for part in match.groups()]
    weights = (86400, 3600, 60, 1, 3600, 60, 1, bare)
    return sum(count * weight for count, weight in zip(parts, weights, strict=True))


def duration(count: int, *, days: bool = False) -> str:
    """Return seconds as Slurm prints a duration: `2-00:00:00`, `04:00:00`; with `days` also `0-04:00:00`."""
    whole, rest = divmod(count, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{whole}-{clock}" if whole or days else clock


def minutes(count: int) -> int:
    """Return seconds as the whole minutes that Slurm counts its limits in, never less than asked."""
    return -(-count // 60)


def moment(text: str, zone: tzinfo | None = None) -> datetime | None:
    """Return a moment, None for one that has not come or is not known; ValueError for other text.

    `zone` is the time zone in which Slurm's command ran; without it the moment has none.
    """
    if text.strip().lower() in NO_MOMENT:
        return None
    return datetime.fromisoformat(text.strip()).replace(tzinfo=zone)
