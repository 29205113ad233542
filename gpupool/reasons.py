"""Reasons of failures as codes for programs, beside the messages for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_MARK = "gpupool-reason:"


class Code(StrEnum):
    """Why a node failed in a run."""

    FAILED = "failed"  # a command failed, or a fact could not be read
    REFUSED = "refused"  # an operation will not make a change
    HELD = "held"  # nothing was changed, because an operation refuses on another node of the run
    UNREACHABLE = "unreachable"  # no connection: nothing was sent to the node
    BUSY = "busy"  # another run has locked this node, or another node of the run
    UNIT_DOWN = "unit-down"  # a unit does not run after its start
    WAITS = "waits"  # everything else is done; this waits for jobs, or for something that only an admin can do
    NEEDS_REBOOT = "needs-reboot"


@dataclass(frozen=True)
class Reason:
    """A code and its item, such as the unit that is down."""

    code: Code = Code.FAILED
    item: str = ""


def marked(reason: Reason) -> str:
    """Return the line with the reason of a failed command, to print as the last but one of its standard error."""
    return f"{_MARK} {reason.code} {reason.item}".rstrip()


def read(errors: Sequence[str]) -> Reason | None:
    """Return the reason in the last line but one of a command's standard error; None without one."""
    fields = errors[-2].split() if len(errors) > 1 else []
    if len(fields) < 2 or fields[0] != _MARK or fields[1] not in set(Code):
        return None
    return Reason(Code(fields[1]), " ".join(fields[2:]))
