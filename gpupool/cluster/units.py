"""Sizes, durations and days as an admin writes them: `384G`, `1.5P`, `4d4h`, `2-00:00:00`; never bare numbers."""

import re
from contextlib import suppress
from datetime import date, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from gpupool.cluster.quote import quoted
from gpupool.slurm import times

# At most twelve digits: Slurm counts in 64 bits, and no size needs more.
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) ?([MGTP])(?:i?B)?")
_MIB_ALONE = re.compile(r"[0-9]{1,12}")
_ENDLESS = ("infinite", "unlimited", "INFINITE", "UNLIMITED")  # Slurm's words
_DURATION = re.compile(r"(?=[0-9])" + "".join(rf"(?:([0-9]{{1,12}}){unit})?" for unit in "wdhms"))
# Slurm's own forms (gpupool.slurm.times) that are unambiguous: no bare number, no minutes:seconds.
_CLOCK = re.compile(r"(?:([0-9]{1,6})-([0-9]{1,4})(?::([0-5][0-9]))?|([0-9]{1,6}):([0-5][0-9])(?=:))(?::([0-5][0-9]))?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})")
_MIB = {"M": 1, "G": 1024, "T": 1024 * 1024, "P": 1024 * 1024 * 1024}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LARGEST = 1_000_000 * _MIB["T"]  # MiB
_LONGEST = 5200 * _SECONDS["w"]


def parse_size(text: Any) -> int:
    """Return a size in MiB: `384G`, `384GB` or `384 GiB`, with binary units. ValueError if it is not one."""
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{quoted(text)} is not a size; write a number and M, G, T or P, such as 384G")
    mib = round(float(match[1]) * _MIB[match[2]])
    if mib > _LARGEST:
        raise ValueError(f"{text!r} is too large; the maximum is {format_size(_LARGEST)}")
    return mib


def parse_slurm_memory(text: Any) -> int:
    """Return a size in MiB; a number without a unit is one in MiB already, as `slurmd -C` prints it."""
    is_number = isinstance(text, int) and not isinstance(text, bool)
    return parse_size(f"{text}M" if is_number or (isinstance(text, str) and _MIB_ALONE.fullmatch(text)) else text)


def parse_maximum(text: Any) -> Any:
    """Return None for Slurm's words for no limit (`infinite`, `unlimited`), and any other value as it is."""
    return None if isinstance(text, str) and text in _ENDLESS else text


def parse_duration(text: Any) -> int:
    """Return the seconds of a duration such as `4h`, `4d4h` (units w, d, h, m, s) or Slurm's `2-00:00:00`.

    ValueError if it is not one.
    """
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    clock = _CLOCK.fullmatch(text) if isinstance(text, str) else None
    if match is not None:
        seconds = sum(int(count or 0) * _SECONDS[unit] for count, unit in zip(match.groups(), "wdhms", strict=True))
    elif clock is not None:
        seconds = times.seconds(clock[0]) or 0
    else:
        hint = ""
        if isinstance(text, str) and (short := re.fullmatch(r"([0-9]{1,9}):([0-5][0-9])", text)):
            first, second = int(short[1]), int(short[2])
            hint = f" (to Slurm this is {first}m{second}s: write that, or {first}h{second}m)"
        raise ValueError(
            f"{quoted(text)} is not a duration; write a number and s, m, h, d or w, such as 4h or 1d12h, or 1-12:00:00"
            f"{hint}"
        )
    if seconds > _LONGEST:
        raise ValueError(f"{text!r} is too long; the maximum is {format_duration(_LONGEST)}")
    return seconds


def _lasting(seconds: int) -> int:
    if not seconds:
        raise ValueError("must be longer than 0s (leave it out for no limit)")
    return seconds


def parse_day(text: Any) -> date:
    """Return a day such as `2030-01-31`; ValueError if it is not one."""
    if isinstance(text, str) and _DAY.fullmatch(text):
        with suppress(ValueError):
            return date.fromisoformat(text)
    raise ValueError(f"{quoted(text)} is not a date; write 2030-01-31")


def parse_moment(text: Any) -> datetime:
    """Return a day and a time such as `2030-01-31 10:00`, without a time zone; ValueError if it is not one."""
    if isinstance(text, str) and (match := _MOMENT.fullmatch(text)):
        with suppress(ValueError):
            return datetime.fromisoformat(f"{match[1]}T{match[2]}")
    raise ValueError(f"{quoted(text)} is not a day and a time; write 2030-01-31 10:00")


def format_size(mib: int) -> str:
    """Return MiB as the shortest exact size that `parse_size` accepts."""
    for unit in "TG":
        if mib and mib % _MIB[unit] == 0:
            return f"{mib // _MIB[unit]}{unit}"
    return f"{mib}M"


def format_duration(seconds: int) -> str:
    """Return seconds as the shortest exact duration that `parse_duration` accepts."""
    for unit in "wdhm":
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"


#: The JSON Schema of a size, and of a duration, as text.
OF_SIZE = {"type": "string", "pattern": f"^{_SIZE.pattern}$"}
OF_DURATION = {"type": "string", "pattern": f"^({_DURATION.pattern}|{_CLOCK.pattern})$"}
_OF_ENDLESS = {"type": "string", "pattern": f"^({'|'.join(_ENDLESS)})$"}

Size = Annotated[int, BeforeValidator(parse_size), WithJsonSchema(OF_SIZE)]
SlurmMemory = Annotated[
    int,
    BeforeValidator(parse_slurm_memory),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+$"}, OF_SIZE]}),
]
Duration = Annotated[int, BeforeValidator(parse_duration), WithJsonSchema(OF_DURATION)]
Span = Annotated[Duration, AfterValidator(_lasting)]
#: A time limit, or None if there is no limit.
Maximum = Annotated[
    Span | None,
    BeforeValidator(parse_maximum),
    WithJsonSchema({"anyOf": [OF_DURATION, _OF_ENDLESS, {"type": "null"}]}),
]
Day = Annotated[date, BeforeValidator(parse_day), WithJsonSchema({"type": "string", "format": "date"})]
Moment = Annotated[
    datetime, BeforeValidator(parse_moment), WithJsonSchema({"type": "string", "pattern": f"^{_MOMENT.pattern}$"})
]
