"""How an operation says no: with the reason, stopping this host alone, in the plan as well as in the run."""

import shlex
from collections.abc import Iterator

from pyinfra.api.command import StringCommand
from pyinfra.api.exceptions import OperationError

from gpupool.operations.ambient import executing


def refuse(message: str) -> Iterator[StringCommand]:
    """Stop the operation with a message for a person; what is built by `frame` raises Refused instead.

    Raises OperationError while a plan is made. During a run an exception in an operation would end the run of
    every host (pyinfra 3.10), so a command that fails with this message on standard error is yielded instead.
    """
    if not executing():
        raise OperationError(message)
    yield failure(message)


def failure(message: str) -> StringCommand:
    """Return a command that fails with a message on standard error."""
    return StringCommand(f"printf '%s\\n' {shlex.quote(message)} >&2; exit 1")
