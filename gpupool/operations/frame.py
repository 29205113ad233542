"""The decorator and functions of all operations: `look` asks the node, `Refused` stops the operation.

@operation
def host_name(hostname: str) -> Commands:
    now = look(KernelName, "the host name")
    …
    raise Refused("…")
"""

from collections.abc import Callable, Generator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pyinfra.api.arguments_typed import PyinfraOperation
from pyinfra.api.command import PyinfraCommand
from pyinfra.api.operation import operation as pyinfra_operation

from gpupool.facts.base import Fact
from gpupool.facts.script import limit_of
from gpupool.operations.ambient import this_host
from gpupool.operations.refusal import REFUSED, refuse
from gpupool.reasons import Code, Reason

P = ParamSpec("P")
T = TypeVar("T")

#: A node that gives no answer fails alone; a refusal stops the apply on all nodes.
UNREAD = Reason(Code.FAILED)
#: A refusal at the end of an apply, which stops nothing: all other operations are done before it.
WAITS = Reason(Code.WAITS)

#: The type of an operation's generator.
Commands = Generator[PyinfraCommand, None, None]


class Refused(Exception):  # noqa: N818
    """Raised to stop an operation: the message has the place, the problem and the solution; `reason` is its code."""

    def __init__(self, message: str, reason: Reason = REFUSED) -> None:
        super().__init__(message)
        self.reason = reason


def operation(function: Callable[P, Commands | None]) -> PyinfraOperation[P]:
    """Return the function as an operation of pyinfra, in which `Refused` stops only this host (see `refuse`).

    A function that yields no commands, because it only looks and refuses, may return None.
    """

    @wraps(function)
    def framed(*args: P.args, **kwargs: P.kwargs) -> Commands:
        try:
            yield from function(*args, **kwargs) or ()
        except Refused as refused:
            message, reason = str(refused), refused.reason
        else:
            return
        yield from refuse(message, reason)

    return pyinfra_operation()(framed)


def look(fact: type[Fact[T]], what: str, **arguments: Any) -> T:
    """Return the current host's answer to a fact; Refused, with the fact's time limit, if there is no answer.

    `what` names the answer in the message: "the exports".
    """
    answer: T | None = this_host().get_fact(fact, **arguments)
    if answer is None:
        limit = limit_of(str(fact().command(**arguments)))
        raise Refused(f"cannot read {what}: no answer within {limit} s", UNREAD)
    return answer
