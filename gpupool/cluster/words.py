"""Sizes and durations as an admin writes them: `384G`, `50T`, `4h`, `7d`; never bare numbers."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([MGT])")
_DURATION = re.compile(r"(\d+)([smhdw])")
_MIB = {"M": 1, "G": 1024, "T": 1024 * 1024}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_size(text: Any) -> int:
    """Take a size such as `384G` (binary units M, G, T) and give MiB. ValueError when it is not one."""
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is not a size; write a number and M, G or T, such as 384G")
    return round(float(match[1]) * _MIB[match[2]])


def parse_duration(text: Any) -> int:
    """Take a duration such as `4h` (units s, m, h, d, w) and give seconds. ValueError when it is not one."""
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        hint = ""
        if isinstance(text, str) and (clock := re.fullmatch(r"(\d+):(\d\d)(?::(\d\d))?", text)):
            hours, minutes = int(clock[1]), int(clock[2])
            hint = f" (perhaps {hours}h)" if minutes == 0 else f" (perhaps {hours * 60 + minutes}m)"
        raise ValueError(f"{text!r} is not a duration; write a number and s, m, h, d or w, such as 4h{hint}")
    return int(match[1]) * _SECONDS[match[2]]


def format_size(mib: int) -> str:
    """Give MiB as the shortest exact size that `parse_size` takes."""
    for unit in "TG":
        if mib and mib % _MIB[unit] == 0:
            return f"{mib // _MIB[unit]}{unit}"
    return f"{mib}M"


def format_duration(seconds: int) -> str:
    """Give seconds as the shortest exact duration that `parse_duration` takes."""
    for unit in "wdhm":
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"


Size = Annotated[int, BeforeValidator(parse_size), WithJsonSchema({"type": "string", "pattern": f"^{_SIZE.pattern}$"})]
Duration = Annotated[
    int, BeforeValidator(parse_duration), WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$"})
]
