"""Facts are cached until anything is written on any host, and not cached while a function runs."""

from typing import Any

from origin import ORIGIN
from pyinfra import host
from pyinfra.api import FactBase, FunctionCommand, operation
from pyinfra.context import ctx_state

from gpupool.engine.drive import NodeHost, run


class Look(FactBase[str]):
    def command(self, what: str) -> str:
        return f"look {what}"


@operation()
def looks(what: str, then: str | None = None) -> Any:
    host.get_fact(Look, what=what)
    if then:
        yield then
    else:
        host.noop("seen")


def sent(deploy: Any, *names: str, execute: bool = True, **responses: Any) -> list[list[str]]:
    """Run the deploy, and return the commands that reached each host's connector."""
    seen: dict[str, Any] = {}

    def keeping() -> None:
        seen[host.name] = host.connector
        deploy()

    data = {"fake_delay": 0, "fake_delay_jitter": 0, "fake_responses": responses}
    targets = [NodeHost(name, (), data, "fake") for name in names or ("a",)]
    report = run(targets, keeping, execute=execute, origin=ORIGIN)
    commands = [seen[f"@fake/{target.name}"].executed_commands for target in targets]
    assert [host_report.commands for host_report in report.hosts.values()] == [len(list_) for list_ in commands]
    return commands


def test_a_fact_is_read_once_until_a_write() -> None:
    def deploy() -> None:
        looks(what="at x")
        looks(what="at x")
        looks(what="at y")
        looks(what="at x", then="write x")
        looks(what="at x")

    assert sent(deploy) == [["look at x", "look at y", "write x", "look at x"]]
    assert sent(deploy, execute=False) == [["look at x", "look at y"]]


def test_a_write_to_one_host_makes_the_facts_of_all_hosts_stale() -> None:
    def deploy() -> None:
        looks(what="at the controller")
        if host.name.endswith("a"):
            looks(what="at the controller", then="start slurmctld")
        looks(what="at the controller")

    a, b = sent(deploy, "a", "b")
    assert a == ["look at the controller", "start slurmctld", "look at the controller"]
    assert b == ["look at the controller", "look at the controller"]


def test_a_fact_is_cached_per_user_and_environment() -> None:
    def deploy() -> None:
        looks(what="at x")
        looks(what="at x", _sudo=True)
        looks(what="at x", _env={"A": "1"})

    assert len(sent(deploy)[0]) == 3


def test_a_failed_fact_is_read_again() -> None:
    def deploy() -> None:
        looks(what="at x", _ignore_errors=True)
        looks(what="at x", _ignore_errors=True)

    assert sent(deploy, look={"success": False}) == [["look at x", "look at x"]]


def test_a_function_may_poll_and_other_hosts_may_be_read() -> None:
    def poll() -> None:
        for _ in range(3):
            host.get_fact(Look, what="at x")
        other: Any = ctx_state.get().inventory.get_host("@fake/b")
        other.run_shell_command("read the key")

    @operation()
    def polls() -> Any:
        host.get_fact(Look, what="at x")
        yield FunctionCommand(poll, (), {})
        host.get_fact(Look, what="at x")

    def deploy() -> None:
        if host.name.endswith("a"):
            polls()

    assert sent(deploy, "a", "b") == [["look at x"] * 5, ["read the key"]]
