"""Ask a node the question of a fact from a check, as an operation does."""

from typing import Any, TypeVar

from testinfra.host import Host

from gpupool.facts.base import Fact

T = TypeVar("T")


def asked(host: Host, fact: type[Fact[T]], **arguments: Any) -> T | None:
    """Return a node's answer to a fact; None if the node did not answer or the answer is incomplete."""
    question = fact()
    command = question.command(**arguments)
    text = command if isinstance(command, str) else command.get_raw_value()
    # not splitlines, which also splits at other characters than a line feed
    return question.process(host.run(text).stdout.removesuffix("\n").split("\n"))
