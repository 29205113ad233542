"""Operations by a real shell on real files of this machine: needs root, no node."""

import subprocess
from pathlib import Path
from typing import Any

from pyinfra.context import ctx_host, ctx_state
from pyinfra_testing.util import FakeHost, FakeState


class LocalHost(FakeHost):
    def get_fact(self, fact_cls: Any, *args: Any, **kwargs: Any) -> Any:
        return fact_here(fact_cls, *args, **kwargs)


def fact_here(fact_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Read a fact of this machine."""
    command = fact_cls().command(*args, **kwargs).get_raw_value()
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    return fact_cls().process(done.stdout.splitlines())


def do(operation: Any, *args: Any, **kwargs: Any) -> list[subprocess.CompletedProcess[str]]:
    """Run an operation here and return the results of its commands."""
    state = FakeState()
    with ctx_state.use(state), ctx_host.use(LocalHost(state, "here", {}, {})):
        commands = list(operation._inner(*args, **kwargs))
    return [
        subprocess.run(
            ["sh", "-c", command.get_raw_value()],
            input=command.connector_arguments.get("_stdin", ""),
            capture_output=True,
            text=True,
            check=False,
        )
        for command in commands
    ]


def twice(operation: Any, *args: Any, **kwargs: Any) -> None:
    """Run an operation, and check that a second run has nothing to do."""
    for done in do(operation, *args, **kwargs):
        assert (done.returncode, done.stderr) == (0, ""), done
    assert do(operation, *args, **kwargs) == []


def run_as(uid: int, gid: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
