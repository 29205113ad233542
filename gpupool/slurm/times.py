"""Slurm's forms of durations, such as `2-12:30:00`, and of moments, such as `2026-11-23T16:00:00`.

Durations: slurm.conf(5), MaxTime; sacctmgr(1), MaxWall; squeue(1), %l. Moments: scontrol(1), without the environment
variable SLURM_TIME_FORMAT.
"""

import re
from datetime import datetime, tzinfo

#: Slurm's words for a duration that is unlimited or not set.
NO_LIMIT = frozenset(("", "(null)", "infinite", "invalid", "n/a", "none", "not_set", "partition_limit", "unlimited"))
#: Slurm's words for an unknown moment.
NO_MOMENT = frozenset(("", "(null)", "infinite", "n/a", "none", "not_set", "now", "unknown"))
#: The seconds of a bare number: in slurm.conf and sacctmgr it is minutes.
MINUTE = 60
_DURATION = re.compile(
    r"([0-9]{1,12})-([0-9]{1,12})(?::([0-9]{1,12}))?(?::([0-9]{1,12}))?"
    r"|(?:([0-9]{1,12}):)?([0-9]{1,12}):([0-9]{1,12})|([0-9]{1,12})"
)


def seconds(text: str, bare: int = MINUTE) -> int | None:
    """Return a duration in seconds; None if it is unlimited or not set; ValueError for other text.

    Forms: days-hours, days-hours:minutes, days-hours:minutes:seconds, hours:minutes:seconds, minutes:seconds, and a
    bare number, whose unit is `bare` seconds.
    """
    if text.strip().lower() in NO_LIMIT:
        return None
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text[:40]!r} is not a duration of Slurm")
    # four groups of a duration with days, three of a duration without days, and the bare number
    parts = [int(part or 0) for part in match.groups()]
    weights = (86400, 3600, 60, 1, 3600, 60, 1, bare)
    return sum(count * weight for count, weight in zip(parts, weights, strict=True))


def duration(count: int, *, days: bool = False) -> str:
    """Return seconds in Slurm's form of a duration: `2-00:00:00`, `04:00:00`; with `days` also `0-04:00:00`."""
    whole, rest = divmod(count, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{whole}-{clock}" if whole or days else clock


def minutes(count: int) -> int:
    """Return seconds as whole minutes, the unit of Slurm's limits, rounded up."""
    return -(-count // 60)


def limit(count: int) -> str:
    """Return seconds as a limit of Slurm, whose unit is the minute, rounded up: `2-00:00:00`, `04:00:00`."""
    return duration(minutes(count) * MINUTE)


def moment(text: str, zone: tzinfo | None = None) -> datetime | None:
    """Return a moment; None if it is unknown; ValueError for other text.

    `zone` is the time zone in which Slurm's command ran; without it the result has no time zone.
    """
    if text.strip().lower() in NO_MOMENT:
        return None
    return datetime.fromisoformat(text.strip()).replace(tzinfo=zone)
