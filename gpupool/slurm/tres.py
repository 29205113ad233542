"""TRES and gres, Slurm's notations for amounts: `cpu=4,mem=10G,gres/gpu:a40=2`, and `gpu:a40:8(S:0-1)` of a node.

slurm.conf(5), AccountingStorageTRES; gres.conf(5); scontrol(1).
"""

import re
from collections.abc import Mapping
from functools import lru_cache

_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}  # in MiB
_AMOUNT = re.compile(r"(-?[0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTP]?)")
_GPU = "gres/gpu"


def read(text: str) -> dict[str, float]:
    """Return amounts by the names of their TRES, memory in MiB; ValueError where a word is not `name=amount`."""
    return dict(_read(text))


# thousands of jobs have the same few texts
@lru_cache(maxsize=1024)
def _read(text: str) -> Mapping[str, float]:
    amounts: dict[str, float] = {}
    for word in filter(None, ("" if text == "(null)" else text).split(",")):
        name, _, value = word.partition("=")
        amounts[name] = amount(name, value)
    return amounts


def amount(name: str, text: str) -> float:
    """Return the amount of one TRES, in MiB for memory; ValueError if the text is not an amount."""
    match = _AMOUNT.fullmatch(text.upper())
    if not match or (match[2] and name not in ("mem", "vmem")):
        raise ValueError(f"{name}={text[:40]!r} is not an amount of a TRES")
    return float(match[1]) * _UNITS[match[2] or "M"]


def gpus(amounts: Mapping[str, float]) -> dict[str, int]:
    """Return the number of GPUs by type in amounts of TRES; "" is the total of all types."""
    return {
        name.removeprefix(_GPU).removeprefix(":"): int(count)
        for name, count in amounts.items()
        if name == _GPU or name.startswith(f"{_GPU}:")
    }


def gpus_of_gres(text: str) -> dict[str, int]:
    """Return the number of GPUs by type from a node's Gres; "" is the type of GPUs without one."""
    # gpu:a40:8(S:0-1),gpu:2,shard:4
    counts: dict[str, int] = {}
    for word in text.split(","):
        kind, _, rest = word.partition("(")[0].partition(":")
        name, _, count = rest.rpartition(":")
        if kind == "gpu" and count.isdecimal():
            counts[name] = counts.get(name, 0) + int(count)
    return counts
