"""Data cases of the operations: `cases/<module>.<operation>/<case>.yml`.

A case is pyinfra-testing's, with two differences. `facts` has the lines that the node answers (without the end mark),
so that the fact's parser is tested too; and `commands` leaves out the fixed shell functions at the head of a script.
`stdin`, `changes` and `effects` (for a plan) are optional. `awaiting` are new files of earlier operations (path: text).
"""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
import yaml
from changing import words
from pyinfra.api.exceptions import OperationError
from pyinfra.context import ctx_host, ctx_state
from pyinfra_testing.operations import parse_commands
from pyinfra_testing.util import FakeHost, FakeState, coerce_operation_arguments

from gpupool import operations
from gpupool.change import Change
from gpupool.compile.system.mounts import with_units
from gpupool.facts.script import END
from gpupool.operations import daemon_trials, diffs, files, reading, service, upcoming
from gpupool.operations.files import unwanted
from gpupool.wanted import Mount, Pool, Roster, Vdev

CASES = sorted((Path(__file__).parent / "cases").glob("*/*.yml"))


class AnsweringHost(FakeHost):
    """A host whose facts are parsed from the lines in the case; a list of None is a truncated answer."""

    def get_fact(self, fact_cls: Any, *args: Any, **kwargs: Any) -> Any:
        fact_cls().command(*args, **kwargs)
        lines = getattr(self.fact, self._get_fact_key(fact_cls)).data
        return fact_cls().process([END] if lines is None else [*lines, END] if lines != [None] else ["half an ans"])


def own_lines(command: Any, module: Any) -> tuple[str, str]:
    """Return the script without the fixed part, and its standard input."""
    stdin = ""
    if isinstance(command, dict):
        stdin, command = command.get("_stdin", ""), command["command"]
    for fixed in (
        getattr(module, "_PRELUDE", "\0"),
        getattr(module, "_QUEUE", "\0"),
        files._PRELUDE,
        unwanted.RECORDING,
        service._PRELUDE,
        reading.KEEPING,
    ):  # some operations put files, or start a unit, as part of their work
        command = command.replace(fixed.strip(), "").strip("\n")
    return command, stdin


def whole(value: Any) -> Any:
    """Add the parts that a case leaves out: unit files of a mount with options, and the class of a pool's vdevs."""
    if isinstance(value, Mount):
        return with_units(value) if value.options else value
    if isinstance(value, Pool):
        return replace(value, vdevs=tuple(Vdev(**vdev) for vdev in value.vdevs))
    return value


def answering(data: dict[str, Any]) -> AnsweringHost:
    """Return the host of a case, in a plan or in a run."""
    state = FakeState()
    state.is_executing = data.get("executing", False)
    return AnsweringHost(state, "n1", data.get("facts", {}), {})


def arguments(operation: Any, data: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a case in the form of the operation."""
    args, kwargs = coerce_operation_arguments(operation, data.get("args", []), data.get("kwargs", {}))
    if "roster" in kwargs:
        kwargs["roster"] = Roster(**data["kwargs"]["roster"])
    kwargs = {
        name: [whole(item) for item in value] if isinstance(value, list) else value for name, value in kwargs.items()
    }
    return args, kwargs


def run(case: Path, data: dict[str, Any]) -> AnsweringHost:
    """Run the operation of a case with its data; return the host that answered."""
    name, function = case.parent.name.split(".")
    operation = getattr(import_module(f"gpupool.operations.{name}"), function)
    host = answering(data)
    args, kwargs = arguments(operation, data)
    with ctx_state.use(host.state), ctx_host.use(host):
        for path, sha256 in data.get("upcoming", {}).items():
            upcoming.announce(path, sha256)
        daemon_trials.await_trial(data.get("awaiting", {}))
        list(operation._inner(*args, **kwargs))
    return host


def changes_of(case: Path) -> tuple[Change, ...]:
    """Return the changes that the operation of a case records."""
    return diffs.take(run(case, yaml.safe_load(case.read_text())), None)


def effects_of(host: AnsweringHost) -> dict[str, list[str]]:
    """Return the effect of each change, and the jobs that it waits for."""
    return {name: [effect.what, *effect.jobs] for name, effect in diffs.effects(host).items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_operation(case: Path) -> None:
    data = yaml.safe_load(case.read_text())
    name, function = case.parent.name.split(".")
    module = import_module(f"gpupool.operations.{name}")
    operation = getattr(module, function)
    host = answering(data)
    state = host.state
    args, kwargs = arguments(operation, data)
    with ctx_state.use(state), ctx_host.use(host):
        for path, sha256 in data.get("upcoming", {}).items():
            upcoming.announce(path, sha256)
        daemon_trials.await_trial(data.get("awaiting", {}))
        if "refused" in data and not state.is_executing:
            with pytest.raises(OperationError, match=data["refused"]):
                list(operation._inner(*args, **kwargs))
            assert "effects" not in data or effects_of(host) == data["effects"]
            return
        yielded = list(operation._inner(*args, **kwargs))
        announced = upcoming.announced()
    commands = [own_lines(command, module) for command in parse_commands(yielded)]
    assert [script.splitlines() for script, _ in commands] == [text.splitlines() for text in data["commands"]]
    assert "".join(stdin for _, stdin in commands) == data.get("stdin", "")
    if "changes" in data:
        assert words(diffs.take(host, None)) == data["changes"]
    if "effects" in data:
        assert effects_of(host) == data["effects"]
    if "announced" in data:
        assert announced == data["announced"]
    if not commands:
        assert host.noop_description == data["noop_description"]


#: They change nothing, and depend on other nodes in the same run: tests/roles tests them.
WITHOUT_CASES = {"rekey.accepted", "slurm.require_accepted_by", "together.barrier"}
#: They replace the munge key each time: no state of a node needs no other key.
ALWAYS_CHANGE = {"rekey.replaced", "rekey.stored"}


def test_every_operation_has_a_case_without_changes() -> None:
    there = set()
    for found in iter_modules(operations.__path__):
        module = import_module(f"gpupool.operations.{found.name}")
        own = (
            name
            for name, value in vars(module).items()
            if hasattr(value, "_inner") and value.__module__ == module.__name__
        )
        there |= {f"{found.name}.{name}" for name in own}
    quiet = {case.parent.name for case in CASES if yaml.safe_load(case.read_text()).get("commands") == []}
    assert there - quiet == WITHOUT_CASES | ALWAYS_CHANGE
