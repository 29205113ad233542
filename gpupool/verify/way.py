"""The way to a node for its checks: OpenSSH, and an end to waiting for a node that answers no more."""

import shlex
import subprocess

import pytest
from testinfra.backend.base import CommandResult
from testinfra.backend.ssh import SshBackend

ALIVE = "  ServerAliveInterval 15\n  ServerAliveCountMax 3\n"  # a machine that hangs is given up after a minute
CHECK_SECONDS = 90.0  # no look of any check takes that long
LOST = "the connection was lost"


class Way(SshBackend):  # type: ignore[misc]  # testinfra is not typed
    """One connection to a node; `lost` is why there is none any more, and then each check fails with it at once."""

    def __init__(self, name: str, config: str) -> None:
        super().__init__(name, ssh_config=config)
        self.lost = ""
        self._reached = False

    def fail_if_lost(self) -> None:
        """Fail the check that is being made, in words, where the node is lost."""
        if self.lost:
            pytest.fail(self.lost, pytrace=False)

    def run_ssh(self, command: str) -> CommandResult:
        """Run it there; a connection that breaks, or is silent, fails this check and all later ones of the node."""
        self.fail_if_lost()
        parts, values = self._build_ssh_command(command)
        argv = shlex.split(self.quote(" ".join(parts), *values))
        try:
            done = subprocess.run(
                argv, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=CHECK_SECONDS
            )
        except subprocess.TimeoutExpired:
            self.lost = f"{LOST}: no answer in {CHECK_SECONDS:.0f} s"
        else:
            if done.returncode != 255:  # ssh's own
                self._reached = True
                return self.result(done.returncode, self.encode(command), done.stdout, done.stderr)
            errors = done.stderr.decode(errors="replace").strip().splitlines()
            failure = LOST if self._reached else "cannot be reached"
            self.lost = f"{failure}: {errors[-1].strip() if errors else 'the node does not answer'}"
        pytest.fail(self.lost, pytrace=False)
