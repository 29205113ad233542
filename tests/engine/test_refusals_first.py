"""An apply asks all operations on all hosts before its first change: a refusal on one host changes none."""

from typing import Any

import pytest
from origin import ORIGIN
from pyinfra import host
from pyinfra.api import operation as plain_operation
from pyinfra.operations import server

from gpupool.change import Change, Kind
from gpupool.engine.drive import NodeHost, Report, run
from gpupool.operations import diffs
from gpupool.operations.ambient import executing
from gpupool.operations.apart import part
from gpupool.operations.frame import UNREAD, WAITS, Commands, Refused, operation
from gpupool.operations.refusal import REFUSED
from gpupool.reasons import Code, Reason


def fake(name: str) -> NodeHost:
    return NodeHost(name, (), {"fake_delay": 0, "fake_delay_jitter": 0}, "fake")


@operation
def refused(reason: Reason) -> None:
    """Refuse on the host b."""
    if host.name == "@fake/b":
        raise Refused("it is in use", reason)


@operation
def planned_and_made() -> Commands:
    """Record a change and a note, of which the plan's differ."""
    diffs.record([Change(Kind.OTHER, "made" if executing() else "planned")])
    if not executing():
        diffs.note("only in a plan")
    yield from ("true",)  # type: ignore[misc]


@plain_operation()
def works_only_in_a_run() -> Any:
    if not executing():
        raise RuntimeError("nothing is there yet")
    yield "true"


@plain_operation()
def nothing() -> Any:
    host.noop("all is well")
    return
    yield


def applied(deploy: Any) -> Report:
    return run([fake("a"), fake("b")], deploy, execute=True, refusals_first=True, origin=ORIGIN)


def changes(report: Report, name: str) -> list[str]:
    return [change.operation for change in report.hosts[name].changes]


def test_a_refusal_on_one_host_changes_no_host() -> None:
    """Also a refusal of the last operation, after operations that would change all hosts."""

    def deploy() -> None:
        server.shell(name="first", commands=["true"])
        refused(name="second", reason=REFUSED)

    report = applied(deploy)
    assert report.failures == {
        "a": "not changed, because apply would refuse a change of b (correct that first)",
        "b": "second: it is in use",
    }
    assert [each.reason for each in report.hosts.values()] == [Reason(Code.HELD), REFUSED]
    assert {name: (each.commands, each.changes) for name, each in report.hosts.items()} == dict.fromkeys("ab", (0, ()))


@pytest.mark.parametrize("reason", [UNREAD, WAITS])
def test_a_failure_that_is_no_refusal_stops_its_host_alone(reason: Reason) -> None:
    def deploy() -> None:
        server.shell(name="first", commands=["true"])
        refused(name="second", reason=reason)
        server.shell(name="third", commands=["true"])

    report = applied(deploy)
    assert changes(report, "a") == ["first", "third"]
    assert changes(report, "b")[0] == "first"


def test_a_refusal_behind_an_operation_that_waits_for_an_admin_changes_no_host() -> None:
    def deploy() -> None:
        server.shell(name="first", commands=["true"])
        refused(name="second", reason=WAITS)
        refused(name="third", reason=REFUSED)

    report = applied(deploy)
    assert report.failures["b"] == "third: it is in use"
    assert {name: changes(report, name) for name in "ab"} == {"a": [], "b": []}


def test_an_error_in_a_question_is_left_to_the_execution() -> None:
    report = applied(lambda: works_only_in_a_run(name="step"))
    assert ([changes(report, name) for name in "ab"], report.ok) == ([["step"], ["step"]], True)


def test_an_error_in_a_part_hides_no_refusal() -> None:
    def deploy() -> None:
        with part("containers"):
            refused(name="containers", reason=UNREAD)
        refused(name="shares", reason=REFUSED)
        planned_and_made(name="links")

    report = applied(deploy)
    assert (report.failures["b"], changes(report, "a")) == ("shares: it is in use", [])


def test_the_report_has_the_changes_of_the_run() -> None:
    report = applied(lambda: planned_and_made(name="step"))
    assert [change.item for change in report.hosts["a"].changes] == ["made"]
    assert report.hosts["a"].notes == ()


def test_handlers_run_as_without_the_questions() -> None:
    def deploy() -> None:
        quiet = nothing(name="quiet")
        changed = server.shell(name="config", commands=["true"])
        server.shell(name="reload", commands=["true"], _if=changed.did_change)
        server.shell(name="never", commands=["true"], _if=quiet.did_change)

    assert changes(applied(deploy), "a") == ["config", "reload"]
