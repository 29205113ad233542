"""How an operation says no: with the reason, stopping this host alone, in the plan as well as in the run."""

import shlex
from collections.abc import Iterator

from pyinfra.api.command import StringCommand
from pyinfra.api.exceptions import OperationError

from gpupool.operations.ambient import executing
from gpupool.reasons import Code, Reason, marked

REFUSED = Reason(Code.REFUSED)


class RefusedInPlanError(OperationError):
    """An operation refuses while a plan is made; `reason` is the code beside the message."""

    def __init__(self, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.reason = reason


def refuse(message: str, reason: Reason) -> Iterator[StringCommand]:
    """Stop the operation with a message for a person; what is built by `frame` raises Refused instead.

    Raises RefusedInPlanError while a plan is made. During a run an exception in an operation would end the run of
    every host (pyinfra 3.10), so a command that fails with this message on standard error is yielded instead.
    """
    if not executing():
        raise RefusedInPlanError(message, reason)
    yield failure(message, reason)


def failure(message: str, reason: Reason = REFUSED) -> StringCommand:
    """Return a command that fails with a reason and a message on standard error."""
    return StringCommand(f"printf '%s\\n' {shlex.join([marked(reason), message])} >&2; exit 1")
