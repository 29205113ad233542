"""The output of commands with `--json`: it matches the published schema, in which each key is described.

The fixture `gpupool` compares the output of each command line with `--json` of all tests, too.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from changing import change_of
from jsonschema import Draft202012Validator
from printed import problems
from rehearsed import rehearsal

from gpupool.cli import apply, drift, log, plan, verify
from gpupool.cli.app import COMMANDS, imported
from gpupool.documents.schema import DOCUMENTS, schema_of
from gpupool.effect import Effect
from gpupool.engine.report import HostReport, Report
from gpupool.facts.applies import Applied
from gpupool.programs.drift.difference import Difference
from gpupool.reasons import Code, Reason
from gpupool.rehearsal.drill.compare import Restored, Row
from gpupool.run.log import History, Run
from gpupool.testbed.lifecycle import Up
from gpupool.testbed.look import NodeStatus
from gpupool.testbed.state import State
from gpupool.verify.run import Outcome

VERSION = {"format_version": 1}
REPORT = Report(
    {
        "n1": HostReport(True, None, (change_of("Files | /etc/hosts", "+new\n"), change_of("Units | start x")), 9, 1.0),
        "n2": HostReport(
            False, "GPU driver stays", (), 9, 1.0, ("a note",), (Effect.drain(["33 of u-kira1"]),), Reason(Code.WAITS)
        ),
    },
    2.0,
    asleep=("n3",),
    away=("n4",),
)
STATE = State(
    *("gpupool-x", "x", "gpupool", "/srv/x", "gpupool-x", "cluster", "trixie", "v2", {"n1": "image"}),
    *({"n1": "10.0.0.1"}, {"n1": ["compute"]}, "/k", "/h", "/s"),
)


def described(schema: Any, name: str = "") -> Iterator[tuple[str, bool]]:
    """Yield each key of a schema, and whether it has a description."""
    if isinstance(schema, dict):
        for key, field in schema.get("properties", {}).items():
            yield f"{name}.{key}", bool(field.get("description"))
        for key, below in schema.items():
            yield from described(below, key if name in ("", "$defs") else name)
    elif isinstance(schema, list):
        for below in schema:
            yield from described(below, name)


@pytest.mark.parametrize("command", DOCUMENTS)
def test_each_key_is_described(command: str) -> None:
    schema = schema_of(command)
    Draft202012Validator.check_schema(schema)
    keys = dict(described(schema))
    assert any(key.endswith(".format_version") for key in keys)
    assert [key for key, is_described in keys.items() if not is_described] == []


def with_json(command: Any, name: str) -> Iterator[str]:
    """Yield the names of a command and of its subcommands that have `--json` as a flag."""
    if any("--json" in parameter.opts and parameter.is_flag for parameter in command.params):
        yield name
    for below, subcommand in getattr(command, "commands", {}).items():
        yield from with_json(subcommand, f"{name} {below}")


def test_each_command_with_json_has_a_schema() -> None:
    assert {found for name in COMMANDS for found in with_json(imported(name), name)} == {*DOCUMENTS}


def test_a_key_without_a_description_is_found() -> None:
    document = {**VERSION, "ok": True, "complaints": []}
    assert problems("check", document) == []
    assert "'other' was unexpected" in problems("check", {**document, "other": 1})[0]
    assert problems("check", {**document, "ok": "yes"}) == ["check: ok: 'yes' is not of type 'boolean'"]
    assert "'format_version' is a required property" in problems("check", {"ok": True, "complaints": []})[0]
    # a program that reads the published schema accepts keys of later versions
    assert Draft202012Validator(schema_of("check")).is_valid({**document, "other": 1})


@pytest.mark.parametrize(
    ("command", "document"),
    [
        ("restore", REPORT.as_dict()),
        ("restore", {"restored": ["queue"], "ends": ["7"], "forgets": [], **REPORT.as_dict()}),
        ("restore", Restored(("b1",), "slurmdbd", (Row("jobs", 1, 2, "one is missing"),)).as_dict()),
        ("rehearse", rehearsal(broken=True, per_second=0.01).as_dict()),
        ("testbed up", Up(STATE, created=("n1",), failed_units={"n1": ("x.service",)}, seconds=1.5).as_dict()),
        (
            "testbed status",
            {
                "testbed": "x",
                "network": "x",
                "nodes": [NodeStatus("n1", "10.0.0.1", ("compute",), "running", "degraded", True, ("x",)).as_dict()],
            },
        ),
    ],
    ids=["restore", "restore --controller", "restore --drill", "rehearse", "testbed up", "testbed status"],
)
def test_results_match_the_schema(command: str, document: dict[str, Any]) -> None:
    assert problems(command, json.loads(json.dumps({**VERSION, **document}))) == []


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give commands the results of nodes that do not exist."""

    class Runner:
        target = type("Target", (), {"nodes": ()})

    outcomes = [
        Outcome("a check", "n1", True, seconds=0.1),
        Outcome("a check", "n2", False, "it fails"),
        Outcome("a check", "n3", False, not_checked="no answer"),
    ]
    seen = type("Drift", (), {
        "differences": (Difference("n1", "slurm", "MaxTime", "1", "1", "2", "for ever"),), "unread": {"n2": "no answer"}
    })  # fmt: skip
    applied = Applied("r1", "2030-01-31T08:12:00Z", "ann", "apply", "0.1.0", "x", "", False, changes=("Files | x",))
    for module in (apply, drift, log, plan, verify):
        monkeypatch.setattr(module, "announced_runner", lambda *_, **__: Runner)
    for module in (apply, drift, plan):
        monkeypatch.setattr(module, "run", lambda *_, **__: REPORT)
    for module in (drift, log, verify):
        monkeypatch.setattr(module, "chosen", lambda *_: {"n1"})
    monkeypatch.setattr(verify, "powered_down", lambda *_: ("n3",))
    monkeypatch.setattr(verify, "checked", lambda *_: outcomes)
    monkeypatch.setattr("gpupool.drift.ask.drift", lambda *_: seen)
    monkeypatch.setattr(log, "history", lambda *_: History((Run({"n1": applied}),), {}, {"n2": "no answer"}, ("n3",)))


@pytest.mark.usefixtures("reached")
@pytest.mark.parametrize("command", ["plan", "apply --yes", "verify", "drift", "log"])
def test_outputs_match_the_schema(gpupool: Callable[..., Any], command: str) -> None:
    """The fixture `gpupool` compares them."""
    done = gpupool(*command.split(), "anything", "--json")
    assert json.loads(done.out)["ok"] is False, done.err


def test_the_schema_is_printed(gpupool: Callable[..., Any]) -> None:
    done = gpupool("schema", "--json", "testbed status")
    assert json.loads(done.out) == schema_of("testbed status")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("--json", "render"), "--json render: there is no command 'render' with --json; there are check, explain"),
        (("--json", "plan", "--rehearsal"), "--rehearsal, --labs and --json cannot be combined"),
    ],
)
def test_a_schema_that_does_not_exist_is_refused(
    gpupool: Callable[..., Any], line: tuple[str, ...], message: str
) -> None:
    done = gpupool("schema", *line)
    assert (done.code, done.out) == (2, "")
    assert message in " ".join(done.err.split())
