"""An apply of a saved plan makes the changes that were agreed on, or none on any host."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from origin import ORIGIN
from pyinfra import host

from gpupool.change import Change, Kind
from gpupool.engine.drive import NodeHost, Report, run
from gpupool.operations import diffs
from gpupool.operations.frame import WAITS, Commands, Refused, operation
from gpupool.reasons import Code

Foreseen = Mapping[str, tuple[Change, ...]]


def fake(name: str) -> NodeHost:
    return NodeHost(name, (), {"fake_delay": 0, "fake_delay_jitter": 0}, "fake")


@operation
def writes(item: str, note: str = "") -> Commands:
    """Record a change of a file and make it."""
    diffs.record([Change(Kind.FILE, item)])
    if note:
        diffs.note(note)
    yield from ("true",)  # type: ignore[misc]


@operation
def waits() -> None:
    """Wait for jobs on the host b."""
    if host.name == "@fake/b":
        raise Refused("jobs would end", WAITS)


def applied(deploy: Any, differences: Mapping[str, str], seen: dict[str, list[str]]) -> Report:
    def agree(foreseen: Foreseen) -> Mapping[str, str]:
        seen.update({name: [change.operation for change in changes] for name, changes in foreseen.items()})
        return differences

    return run([fake("a"), fake("b")], deploy, execute=True, refusals_first=True, origin=ORIGIN, agree=agree)


def two_steps() -> None:
    writes(name="one", item="/etc/hosts")
    writes(name="two", item="/etc/motd", note="only once")


BOTH = ["one | /etc/hosts", "two | /etc/motd"]


def test_the_changes_are_asked_for_on_all_hosts_and_made_if_they_are_agreed_on() -> None:
    seen: dict[str, list[str]] = {}
    report = applied(two_steps, {}, seen)
    assert seen == {"a": BOTH, "b": BOTH}
    assert report.ok
    assert {name: [change.operation for change in each.changes] for name, each in report.hosts.items()} == seen
    assert [each.commands for each in report.hosts.values()] == [2, 2]
    assert report.hosts["a"].notes == ("only once",)


def test_a_difference_on_one_host_changes_no_host() -> None:
    report = applied(two_steps, {"b": "two: not in the plan"}, {})
    assert report.failures == {"a": "not changed, because b differs from the saved plan", "b": "two: not in the plan"}
    assert {each.reason.code for each in report.hosts.values() if each.reason} == {Code.HELD}
    assert {name: (each.commands, each.changes) for name, each in report.hosts.items()} == dict.fromkeys("ab", (0, ()))


def test_a_difference_of_a_node_outside_the_run_changes_no_host() -> None:
    report = applied(two_steps, {"c": "is powered down"}, {})
    assert set(report.failures.values()) == {"not changed, because c differs from the saved plan"}


def test_a_host_that_would_fail_changes_no_host_and_keeps_its_reason() -> None:
    """A plan with a failure is not saved, so each failure is a difference; also a wait for jobs."""

    def deploy() -> None:
        writes(name="one", item="/etc/hosts")
        waits(name="two")

    seen: dict[str, list[str]] = {}
    report = applied(deploy, {}, seen)
    assert seen == {"a": ["one | /etc/hosts"]}
    assert report.failures == {"a": "not changed, because b would fail", "b": "two: jobs would end"}
    assert [each.commands for each in report.hosts.values()] == [0, 0]


def test_the_log_names_each_step_also_if_nothing_is_made(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run([fake("a")], two_steps, execute=True, origin=ORIGIN, agree=lambda _: {"a": "changed"}, log=log)
    assert "a: changed" in log.read_text()
