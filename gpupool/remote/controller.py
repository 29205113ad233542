"""Run commands on the first controller that answers."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from gpupool.remote.errors import NoAnswerError, RefusedError
from gpupool.remote.nodes import SECONDS, Nodes
from gpupool.slurm.silent import slurmctld_is_silent
from gpupool.target import Target

__all__ = ["Controller", "NoAnswerError", "RefusedError", "reach"]


class Controller(Nodes):
    """The controllers and the other nodes of a target; made by `reach`."""

    def ask(self, *argv: str, stdin: str = "", seconds: float = SECONDS) -> str:
        """Return the output of a command on the first controller whose slurmctld answers.

        NoAnswerError if none does, RefusedError if the command fails.
        """
        return self._of_one(lambda name: self.output_on(name, *argv, stdin=stdin, seconds=seconds))[1]

    def first(self) -> str:
        """Return the name of the first controller that answers; NoAnswerError if none does."""
        return self._of_one(lambda name: self.output_on(name, "true", seconds=20))[0]

    def _of_one(self, run: Callable[[str], str]) -> tuple[str, str]:
        """Return the name of the first controller that answers, and the result of `run` for it."""
        why = "the inventory has no controller that gpupool manages"
        for node in self.target.cluster.controllers:
            try:
                return node.name, run(node.name)
            except NoAnswerError as error:
                why = str(error)
            except RefusedError as error:
                if not slurmctld_is_silent(error.errors):
                    raise
                why = str(error)
        raise NoAnswerError(f"no controller answers: {why}")


def reach(target: Target) -> AbstractContextManager[Controller]:
    """Return a context with the controllers and the other nodes, which ends the connections afterwards."""
    return Controller.of(target)
