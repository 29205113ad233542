"""The connection of the checks to a node; after it is lost, all further checks of the node fail at once."""

from typing import Any

import pytest
from testinfra.backend.base import BaseBackend, CommandResult

from gpupool.remote.errors import NoAnswerError, RefusedError
from gpupool.remote.nodes import Nodes

CHECK_SECONDS = 90.0  # longer than any command of a check
LOST = "the connection was lost"


class NodeBackend(BaseBackend):  # type: ignore[misc]  # testinfra is not typed
    """A connection to a node; after it is lost, `lost` has the reason, and every check fails with it at once."""

    NAME = "gpupool"

    def __init__(self, name: str, nodes: Nodes) -> None:
        super().__init__(name)
        self.lost = ""
        self._name = name
        self._nodes = nodes
        self._reached = False

    def fail_if_lost(self) -> None:
        """Fail the current check with the reason if the connection is lost."""
        if self.lost:
            pytest.fail(self.lost, pytrace=False)

    def run(self, command: str, *args: str, **_: Any) -> CommandResult:
        """Run a command as root; a connection that breaks or does not answer fails this check and all later ones."""
        self.fail_if_lost()
        script = self.get_command(command, *args)
        try:
            answer = self._nodes.run(self._name, script, seconds=CHECK_SECONDS)
        except (NoAnswerError, RefusedError) as error:
            failure = LOST if self._reached else "cannot be reached"
            self.lost = f"{failure}: {str(error).removeprefix(f'{self._name}: ')}"
            pytest.fail(self.lost, pytrace=False)
        self._reached = True
        return self.result(answer.code, self.encode(script), answer.out, answer.err)
