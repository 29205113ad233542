"""The frame of all operations: a refusal stops one host, in the plan and in the run, and nothing runs after it."""

from inspect import signature
from typing import Any, cast

import pytest
from changing import words
from pyinfra.api.command import StringCommand
from pyinfra.api.exceptions import OperationError
from pyinfra.context import ctx_host, ctx_state
from pyinfra_testing.util import FakeHost, FakeState

from gpupool.change import Aspect, Change, Kind
from gpupool.facts.homes import Homes
from gpupool.facts.mounts import Alive
from gpupool.operations import diffs
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.work import Work


class SilentHost(FakeHost):
    """A host that does not answer in time."""

    def get_fact(self, fact_cls: Any, *args: Any, **kwargs: Any) -> Any:
        return fact_cls().process([])


@operation
def half_done(path: str) -> Commands:
    """Do something, then look."""
    yield StringCommand("first")
    look(Homes, "the home directories", paths=[path])
    yield StringCommand("second")


@operation
def only_looks(paths: dict[str, tuple[str, int]]) -> None:
    """Look, and no more."""
    look(Alive, "which mounts answer", mounts=paths)


def commands(function: Any, *args: Any, executing: bool) -> list[str]:
    state = FakeState()
    state.is_executing = executing
    with ctx_state.use(state), ctx_host.use(SilentHost(state, "n1", {}, {})):
        return [command.get_raw_value() for command in function._inner(*args)]


def test_a_plan_fails_with_the_reason_and_the_time_limit() -> None:
    with pytest.raises(OperationError, match=r"^cannot read the home directories: no answer within 60 s$"):
        commands(half_done, "/home/a", executing=False)
    with pytest.raises(OperationError, match=r"^cannot read which mounts answer: no answer within 90 s$"):
        commands(only_looks, {"/srv/a": ("srv-a.mount", 60)}, executing=False)


def test_a_run_gets_a_failing_command_instead_of_an_exception() -> None:
    reason = "cannot read the home directories: no answer within 60 s"
    assert commands(half_done, "/home/a", executing=True) == [
        "first", f"printf '%s\\n' 'gpupool-reason: failed' '{reason}' >&2; exit 1"
    ]  # fmt: skip
    assert len(commands(only_looks, {}, executing=True)) == 1


def test_pyinfra_has_the_name_and_the_arguments() -> None:
    assert (half_done.__name__, half_done.__doc__) == ("half_done", "Do something, then look.")  # type: ignore[attr-defined]
    assert list(signature(half_done._inner).parameters) == ["path"]


def work_on_a_host(work: Work, **options: Any) -> tuple[list[str], dict[str, str | None], str | None]:
    """Return the scripts, the changes in the plan, and the message to the host if there is nothing to do."""
    state = FakeState()
    host = SilentHost(state, "n1", {}, {})
    with ctx_state.use(state), ctx_host.use(host):
        scripts = [
            cast(StringCommand, command).get_raw_value() for command in work.carry_out("all as wanted", **options)
        ]
        return scripts, words(diffs.take(host, None)), host.noop_description


A = {"a": Change(Kind.OTHER, "a")}


def test_work_is_one_script_or_several_of_limited_size() -> None:
    work = Work(Kind.OTHER)
    for name in "abc":
        work.do(name, Aspect("made"), "make", name)
    changes = dict.fromkeys("abc", "made\n")
    assert work_on_a_host(work, prelude="set -e\n", end=["end"]) == (
        ["set -e\nmake a\nmake b\nmake c\nend"], changes, None,
    )  # fmt: skip
    assert work_on_a_host(work, at_once=2) == (["make a\nmake b", "make c"], changes, None)
    assert work_on_a_host(Work(Kind.OTHER, A), prelude="exportfs -r") == (["exportfs -r"], {"a": None}, None)


def test_without_work_the_operation_is_quiet_and_obstacles_stop_all_of_it() -> None:
    assert work_on_a_host(Work(Kind.OTHER, lines=["of no change"])) == ([], {}, "all as wanted")
    with pytest.raises(Refused, match=r"^the first; the second$"):
        work_on_a_host(Work(Kind.OTHER, A, ["make a"], obstacles=["the first", "the second"]))
