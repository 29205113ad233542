"""Fail an operation with a message and a code, for this host only, in a plan and in a run."""

import shlex
from collections.abc import Iterator

from pyinfra.api.command import StringCommand
from pyinfra.api.exceptions import OperationError

from gpupool.operations.ambient import executing
from gpupool.reasons import Code, Reason, marked

REFUSED = Reason(Code.REFUSED)


class RefusedInPlanError(OperationError):
    """An operation refuses in a plan; `reason` is the code of the message."""

    def __init__(self, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.reason = reason


def refuse(message: str, reason: Reason) -> Iterator[StringCommand]:
    """Stop the operation with a message; operations made with `frame` raise Refused instead.

    RefusedInPlanError in a plan. In a run, an exception in an operation would end the run of every host (pyinfra
    3.10), so a command is yielded that fails with this message on standard error.
    """
    if not executing():
        raise RefusedInPlanError(message, reason)
    yield failure(message, reason)


def failure(message: str, reason: Reason = REFUSED) -> StringCommand:
    """Return a command that fails with the reason's code and a message on standard error."""
    return StringCommand(f"printf '%s\\n' {shlex.join([marked(reason), message])} >&2; exit 1")
