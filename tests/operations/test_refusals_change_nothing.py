"""Each refusal of the data cases, in a whole run over two hosts: a plan has it, and an apply sends no host a command.

`test_refusals` lists the other refusals of the code, each with the reason why no plan has it.
"""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from origin import ORIGIN
from pyinfra import host
from pyinfra.api import Host
from pyinfra.operations import server
from suite.layers import FULL
from test_operation_cases import CASES, arguments

from gpupool.engine.drive import NodeHost, Report, run
from gpupool.facts.script import END
from gpupool.operations import daemon_trials, upcoming
from gpupool.reasons import Code, Reason

Data = dict[str, Any]


def refusing() -> list[tuple[Path, Data]]:
    """Return the cases of plans that refuse; in the suite of each day, one of each operation."""
    read = [(case, yaml.safe_load(case.read_text())) for case in CASES]
    cases = [(case, data) for case, data in read if "refused" in data and not data.get("executing")]
    return cases if os.environ.get(FULL) else list({case.parent: (case, data) for case, data in cases}.values())


def fake(name: str) -> NodeHost:
    return NodeHost(name, (), {"fake_delay": 0, "fake_delay_jitter": 0}, "fake")


def ran(case: Path, data: Data, execute: bool) -> Report:
    """Run a change on both hosts, then on b the operation of the case."""
    module, function = case.parent.name.split(".")
    operation = getattr(import_module(f"gpupool.operations.{module}"), function)
    args, kwargs = arguments(operation, data)

    def deploy() -> None:
        server.shell(name="first", commands=["true"])
        if host.name == "@fake/b":
            for path, sha256 in data.get("upcoming", {}).items():
                upcoming.announce(path, sha256)
            daemon_trials.await_trial(data.get("awaiting", {}))
            operation(*args, name="second", **kwargs)

    return run([fake("a"), fake("b")], deploy, execute=execute, refusals_first=execute, origin=ORIGIN)


REFUSING = refusing()


@pytest.mark.parametrize(("case", "data"), REFUSING, ids=[f"{case.parent.name}-{case.stem}" for case, _ in REFUSING])
def test_a_refused_apply_sends_no_command_and_its_plan_refuses_too(
    case: Path, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(self: Host, fact: Any, *args: Any, **kwargs: Any) -> Any:
        fact().command(*args, **kwargs)
        lines = data["facts"][f"{fact.__module__.split('.')[-1]}.{fact.__name__}"]
        return fact().process(["half an answer"] if lines == [None] else [*(lines or ()), END])

    monkeypatch.setattr(Host, "get_fact", answer)
    plan = ran(case, data, execute=False)
    assert set(plan.failures) == {"b"}
    if plan.hosts["b"].reason != Reason(Code.REFUSED):
        return  # it stops its own node alone, in its place
    report = ran(case, data, execute=True)
    assert report.failures["b"] == plan.failures["b"]
    assert report.hosts["a"].reason == Reason(Code.HELD)
    assert {name: (each.commands, each.changes) for name, each in report.hosts.items()} == dict.fromkeys("ab", (0, ()))


def test_the_sample_has_refusals_of_many_operations() -> None:
    assert len({case.parent for case, _ in REFUSING}) > 30
