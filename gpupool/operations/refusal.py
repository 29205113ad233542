"""How an operation says no: in words, stopping this host alone, in the plan as well as in the run."""

import shlex
from collections.abc import Iterator

from pyinfra.api.command import StringCommand
from pyinfra.api.exceptions import OperationError

from gpupool.operations.ambient import executing


def refuse(message: str) -> Iterator[StringCommand]:
    """Stop the operation with words for a person: use `yield from refuse(…); return`.

    Raises OperationError while a plan is made. During a run an exception in an operation would end the run of
    every host (pyinfra 3.10), so a command that fails with these words on standard error is yielded instead.
    """
    if not executing():
        raise OperationError(message)
    yield StringCommand(f"printf '%s\\n' {shlex.quote(message)} >&2; exit 1")
