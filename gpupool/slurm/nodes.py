"""Nodes in slurmctld: the parser of `scontrol show node` of all supported releases."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpupool.slurm import records, tres

#: The beginning of the reason of each drain by gpupool; the work follows, such as maintain or health.
OURS = "gpupool: "
#: Works of gpupool that drain nodes: the health check of a node, and an entry of `out_of_service`.
HEALTH, OUT_OF_SERVICE = "health", "out of service"
_LONGEST = 300  # characters of a reason
_FREE = {
    "OS": ("RealMemory",),  # text of the node's kernel
    "Reason": ("Comment", "Extra", "InstanceId", "InstanceType", "ReservationName"),
    "Comment": ("Extra", "InstanceId", "InstanceType", "ReservationName"),
    "Extra": ("InstanceId", "InstanceType", "ReservationName"),
}
_REASON = re.compile(r"(.*?)(?: \[([^@\]\s]+)@[^\]]*\])?", re.DOTALL)
_WORD = re.compile(r"([A-Z_]*)(.*)", re.DOTALL)
# the meaning of a sign after a state: sinfo(1), NODE STATE CODES
_SIGNS = {
    "*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "!": "POWER_DOWN", "%": "POWERING_DOWN",
    "$": "MAINTENANCE", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED",
}  # fmt: skip
# other names of flags
_ALIASES = {
    "DRAINED": "DRAIN", "DRAINING": "DRAIN", "FAILING": "FAIL", "MAINT": "MAINTENANCE", "INVAL": "INVALID_REG",
}  # fmt: skip
_SILENT = frozenset(("NOT_RESPONDING", "UNKNOWN"))
_OFF = frozenset(("POWERED_DOWN", "POWERING_DOWN"))
_BAD = _SILENT | {"DOWN", "DRAIN", "FAIL", "INVALID_REG"}
_AWAY = frozenset(("FUTURE", "MAINTENANCE", "REBOOT_ISSUED", "REBOOT_REQUESTED"))
_CLOSED = frozenset(("RESERVED", "POWER_DOWN", "POWER_DRAIN", "POWER_UP", "POWERING_UP")) | _OFF


@dataclass(frozen=True)
class NodeState:
    """A node in slurmctld: the flags of its state, reason and user (`by`) of its drain, and its registered hardware.

    A flag has the same name for all releases; a node without a state has UNKNOWN. `booted` and `started` (slurmd's
    start) are times in Slurm's form, "None" or "" before the first. `memory` is in MiB, `version` is slurmd's. `fields`
    are all fields that scontrol shows.
    """

    flags: frozenset[str]
    reason: str = ""
    by: str = ""
    booted: str = ""
    started: str = ""
    cpus: int = 0
    memory: int = 0
    gres: str = ""
    version: str = ""
    fields: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def drained(self) -> bool:
        """Whether it is drained, by an admin or by gpupool, so that no new job starts there."""
        return "DRAIN" in self.flags

    @property
    def answers(self) -> bool:
        """Whether its slurmd is registered and answers slurmctld."""
        return not _SILENT & self.flags

    @property
    def powered_off(self) -> bool:
        """Whether Slurm has switched it off, or is about to: an elastic node that is idle."""
        return bool(_OFF & self.flags)

    @property
    def is_bad(self) -> bool:
        """Whether it is down, drained, failed or silent, and Slurm has not powered it down."""
        return bool(_BAD & self.flags) and not self.powered_off

    @property
    def in_service(self) -> bool:
        """Whether users' jobs can start there, or could if it were not full or off."""
        return not (_BAD | _AWAY) & self.flags

    @property
    def is_open(self) -> bool:
        """Whether a job can start there now if there is room."""
        return not (_BAD | _AWAY | _CLOSED) & self.flags

    @property
    def extra(self) -> str:
        """The text that gpupool keeps with the node in slurmctld."""
        return _value(self.fields, "Extra")

    @property
    def cores(self) -> int:
        """The cores of all its sockets, as slurm.conf has them; 0 if scontrol shows none."""
        return _number(self.fields, "Sockets") * _number(self.fields, "CoresPerSocket")

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions that have it."""
        return records.names(self.fields.get("Partitions", ""))

    @property
    def features(self) -> tuple[str, ...]:
        """Its active features."""
        return records.names(self.fields.get("ActiveFeatures", ""))

    @property
    def has(self) -> dict[str, float]:
        """All its TRES, memory in MiB; ValueError where they are missing or cannot be read."""
        return self._tres("CfgTRES")

    @property
    def used(self) -> dict[str, float]:
        """Its TRES that jobs have, memory in MiB; ValueError where they are missing or cannot be read."""
        return self._tres("AllocTRES")

    def _tres(self, key: str) -> dict[str, float]:
        if key not in self.fields:
            raise ValueError(f"{self.fields.get('NodeName', 'a node')} has no {key}")
        return tres.read(self.fields[key])

    def is_ours(self, work: str) -> bool:
        """Return whether this work of gpupool has drained it, as root, and no admin has changed the reason since."""
        return self.drained and self.by == "root" and self.reason.startswith(reason_of(work))


def reason_of(work: str) -> str:
    """Return the beginning of the reason of a drain by a work of gpupool: `gpupool: maintain: `."""
    return f"{OURS}{work}: "


def reason(work: str, why: str) -> str:
    """Return the reason of a drain as one line that scontrol accepts."""
    text = f"{reason_of(work)}{why}"
    # slurmctld appends [root@time], and a quote would end the value in Slurm's own files
    signs = (sign if sign.isprintable() and sign not in "[]\"'|" else " " for sign in text)
    plain = " ".join("".join(signs).split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


def read(answer: str | bytes) -> dict[str, NodeState]:
    """Return the nodes in the output of `scontrol show node`, with or without `-o`, by their names in Slurm."""
    states: dict[str, NodeState] = {}
    for record in records.read(answer, "NodeName", _FREE):
        states.setdefault(record["NodeName"], state(record))
    return states


def state(record: Mapping[str, str]) -> NodeState:
    """Return a node from its fields in scontrol's output."""
    reason = _REASON.fullmatch(_value(record, "Reason"))
    return NodeState(
        flags=_flags(record.get("State", "")),
        reason=reason[1] if reason else "",
        by=(reason[2] or "") if reason else "",
        booted=_value(record, "BootTime"),
        started=_value(record, "SlurmdStartTime"),
        cpus=_number(record, "CPUTot"),
        memory=_number(record, "RealMemory"),
        gres=_value(record, "Gres"),
        version=_value(record, "Version"),
        fields=record,
    )


def _flags(text: str) -> frozenset[str]:
    """Return the flags of `IDLE+DRAIN`, `MIXED*+DRAIN` or `DOWN~`."""
    flags: set[str] = set()
    for word in text.split("+"):
        name, signs = _WORD.fullmatch(word).groups()  # type: ignore[union-attr]
        flags |= {_ALIASES.get(name, name), *(_SIGNS[sign] for sign in signs if sign in _SIGNS)}
    return frozenset(flags - {""}) or frozenset(("UNKNOWN",))


def _value(record: Mapping[str, str], key: str) -> str:
    value = record.get(key, "")
    return "" if value == "(null)" else value


def _number(record: Mapping[str, str], key: str) -> int:
    value = record.get(key, "")
    return int(value) if value.isascii() and value.isdecimal() else 0
