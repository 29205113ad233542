"""Reservations in slurmctld: the parser of `scontrol show reservation` of all supported releases."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

from gpupool.slurm import records, times, tres
from gpupool.slurm.hostlists import expand

_FREE = {"Comment": ()}
_PURGE = "PURGE_COMP"


@dataclass(frozen=True)
class Reservation:
    """A reservation with its present or next period; durations in seconds, GPUs by type ("" for all).

    `free_after`: seconds without a job after which it ends; 0 if it does not. Times are in the time zone in which
    scontrol ran.
    """

    name: str
    start: datetime
    end: datetime
    duration: int
    nodes: tuple[str, ...]
    partition: str
    accounts: tuple[str, ...]
    users: tuple[str, ...]
    gpus: Mapping[str, int]
    flags: frozenset[str]
    free_after: int


def read(answer: str | bytes, zone: tzinfo | None = None) -> dict[str, Reservation]:
    """Return reservations by name from `scontrol show reservation`, with or without `-o`.

    `zone` is the time zone in which it ran. ValueError or KeyError if a field is missing or invalid.
    """
    found: dict[str, Reservation] = {}
    for record in records.read(answer, "ReservationName", _FREE):
        found.setdefault(record["ReservationName"], _reservation(record, zone))
    return found


def _reservation(record: Mapping[str, str], zone: tzinfo | None) -> Reservation:
    flags = records.names(record.get("Flags", ""))
    purge = next((flag for flag in flags if flag.startswith(_PURGE)), "")
    start, end = (times.moment(record[key], zone) for key in ("StartTime", "EndTime"))
    if start is None or end is None:
        raise ValueError(f"reservation {record['ReservationName']} has no start or no end")
    return Reservation(
        name=record["ReservationName"],
        start=start,
        end=end,
        duration=times.seconds(record["Duration"]) or 0,
        nodes=tuple(expand(",".join(records.names(record.get("Nodes", ""))))),
        partition="".join(records.names(record.get("PartitionName", ""))),
        accounts=records.names(record.get("Accounts", "")),
        users=records.names(record.get("Users", "")),
        gpus=tres.gpus(tres.read(record.get("TRES", ""))),
        flags=frozenset(flag for flag in flags if flag != purge),
        free_after=times.seconds(purge.partition("=")[2]) or 0,
    )
