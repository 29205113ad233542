"""The values of Slurm's accounting: parse the text that sacctmgr prints, and write the text that it accepts.

`parse(field, write(field, value)) == value` for every value that `parse` returns.
"""

from collections.abc import Mapping

from gpupool.slurm import times, tres

#: The one form of a value: counts, minutes (walls), seconds (grace time), ratios, words, sorted names, and
#: TRES as {name: number} with memory in MiB. None, [] and {} mean: no limit.
Value = int | float | str | list[str] | dict[str, int] | None

_TRES = (
    "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxTRESPU", "MaxTRESPA",
    "MaxTRESRunMinsPU", "MaxTRESRunMinsPA", "MinTRES",
)  # fmt: skip
_COUNTS = (
    "Priority", "GrpJobs", "GrpJobsAccrue", "GrpSubmit", "MaxJobs", "MaxJobsAccrue", "MaxSubmit", "MaxJobsPU",
    "MaxJobsAccruePU", "MaxSubmitPU", "MaxJobsPA", "MaxJobsAccruePA", "MaxSubmitPA", "MinPrioThresh",
)  # fmt: skip
_KINDS = {
    **dict.fromkeys(_TRES, "tres"),
    **dict.fromkeys(_COUNTS, "count"),
    **dict.fromkeys(("MaxWall", "GrpWall"), "minutes"),
    **dict.fromkeys(("UsageFactor", "LimitFactor", "UsageThres"), "ratio"),
    **dict.fromkeys(("Flags", "Preempt", "QOS"), "names"),
    **dict.fromkeys(("PreemptMode", "DefaultQOS", "AdminLevel"), "word"),
    **dict.fromkeys(("GraceTime", "PreemptExemptTime"), "seconds"),
    "Fairshare": "share",
}
# Slurm's defaults that are not "no limit"
_DEFAULTS: dict[str, Value] = {
    "Priority": 0, "UsageFactor": 1.0, "GraceTime": 0, "PreemptMode": "cluster", "Fairshare": 1, "AdminLevel": "None",
}  # fmt: skip

#: The fields of a QoS, and of an association (of an account or a user), that gpupool reads and writes.
QOS_FIELDS = (
    "Priority", "GraceTime", "Preempt", "PreemptMode", "PreemptExemptTime", "Flags", "UsageFactor", "UsageThres",
    "LimitFactor", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs", "GrpJobsAccrue", "GrpSubmit", "GrpWall",
    "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall", "MaxTRESPU", "MaxTRESRunMinsPU", "MaxJobsPU",
    "MaxJobsAccruePU", "MaxSubmitPU", "MaxTRESPA", "MaxTRESRunMinsPA", "MaxJobsPA", "MaxJobsAccruePA", "MaxSubmitPA",
    "MinPrioThresh", "MinTRES",
)  # fmt: skip
ASSOC_FIELDS = (
    "Fairshare", "Priority", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs", "GrpJobsAccrue", "GrpSubmit",
    "GrpWall", "MaxJobs", "MaxJobsAccrue", "MaxSubmit", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxWall",
    "MinPrioThresh", "QOS", "DefaultQOS",
)  # fmt: skip

#: sacctmgr's names for setting fields that it prints under other names.
SET_AS = {"MaxSubmitPU": "MaxSubmitJobsPU", "MaxSubmitPA": "MaxSubmitJobsPA"}


def parse(field: str, given: object) -> Value:
    """Return the normal form of a value, given as sacctmgr's text or as a Python value; ValueError if invalid."""
    kind = _KINDS.get(field)
    if kind is None:
        raise ValueError(f"{field} is not a known field of Slurm's accounting")
    if given is None or given in ("", -1, "-1"):
        empty: Value = {} if kind == "tres" else [] if kind == "names" else None
        return _DEFAULTS.get(field, empty)
    try:
        return _parse(kind, given)
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{field}: {given!r} is not a valid value in Slurm's accounting") from None


def write(field: str, wanted: Value, now: Value = None) -> str:
    """Return the text after `field=` in a sacctmgr command that changes `now` to `wanted`."""
    kind = _KINDS[field]
    if kind == "tres":
        after = wanted if isinstance(wanted, Mapping) else {}
        # sacctmgr does not change a TRES that is not named, so the removed ones are set to -1
        removed = {name: -1 for name in (now if isinstance(now, Mapping) else {}) if name not in after}
        return ",".join(f"{name}={number}" for name, number in sorted({**after, **removed}.items()))
    if isinstance(wanted, list) and wanted:
        return ",".join(wanted)
    if wanted is None or isinstance(wanted, list):
        return "" if kind == "names" and field != "Flags" else "-1"
    if kind == "minutes" and isinstance(wanted, int):
        return times.duration(wanted * 60, days=True)
    return str(wanted)


def _parse(kind: str, given: object) -> Value:
    if kind == "tres":
        pairs = given.items() if isinstance(given, Mapping) else (pair.split("=", 1) for pair in _names(given))
        return {str(name).lower(): _amount(str(name), number) for name, number in pairs if number is not None}
    if kind == "names":
        return sorted(set(_names(given)))
    if kind == "count":
        return int(str(given))
    if kind == "share":
        return "parent" if given == "parent" else int(str(given))
    if kind == "ratio":
        return float(str(given))
    if kind == "minutes":
        seconds = _seconds(given, times.MINUTE)
        if seconds % 60:
            raise ValueError
        return seconds // 60
    if kind == "seconds":
        return _seconds(given, 1)
    text = str(given)
    if "\n" in text or "|" in text:
        raise ValueError
    return text.lower() if text.lower() in ("requeue", "cancel", "gang", "suspend", "cluster", "within") else text


def _names(given: object) -> list[str]:
    names = given.split(",") if isinstance(given, str) else [str(name) for name in given]  # type: ignore[attr-defined]
    return [name.strip() for name in names if name.strip()]


def _amount(name: str, given: object) -> int:
    amount = tres.amount(name, str(given))
    if not amount.is_integer():
        raise ValueError
    return int(amount)


def _seconds(given: object, bare: int) -> int:
    seconds = times.seconds(str(given), bare)
    if seconds is None:
        raise ValueError
    return seconds
