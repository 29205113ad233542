"""A node for the checks: testinfra's Host, whose failed commands are reported in the words of their programs."""

from typing import Any

import pytest
from testinfra.host import Host


class NodeHost(Host):  # type: ignore[misc]  # testinfra is not typed
    """A node; `check_output` fails the check with the program's own message."""

    def check_output(self, command: str, *args: str, **options: Any) -> str:
        """Return the output of a command without its last line feed; fail the check if the command fails."""
        done = self.run(command, *args, **options)
        if done.rc:
            lines = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
            pytest.fail(f"{command.split()[0]}: {lines[-1] if lines else f'exit code {done.rc}'}", pytrace=False)
        return str(done.stdout).rstrip("\r\n")
