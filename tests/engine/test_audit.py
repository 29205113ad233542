"""Each run that changes a node records its user, time, commit and changes on it, even if it is killed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from origin import ORIGIN
from pace import until
from pyinfra import host
from pyinfra.operations import server
from ssh_server import Server, serving

from gpupool.engine.drive import NodeHost, Report, run
from gpupool.facts.applies import Applies
from gpupool.operations.together import barrier

ROOT = Path(__file__).parents[2]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[dict[str, Server]]:
    with serving(tmp_path / "n1") as n1, serving(tmp_path / "n2") as n2:
        yield {"n1": n1, "n2": n2}


def work() -> None:
    barrier(name="together")
    if host.data.get("command"):
        server.shell(name="work", commands=[host.data.command])


def go(nodes: dict[str, Server], execute: bool = True, **commands: str) -> Report:
    targets = [NodeHost(name, (), {**node.data, "command": commands.get(name)}) for name, node in nodes.items()]
    return run(targets, work, execute=execute, origin=ORIGIN)


def log(node: Server) -> Path:
    return node.asked.parent / "log" / "applies.jsonl"


def lines(node: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log(node).read_text().splitlines()] if log(node).exists() else []


def test_a_run_records_its_begin_and_end_on_the_changed_nodes_only(nodes: dict[str, Server]) -> None:
    report = go(nodes, n1="true password=secret")
    begin, end = lines(nodes["n1"])
    assert begin["run"] == end["run"]
    assert [begin[key] for key in ("command", "cluster", "commit", "uncommitted")] == [
        *("apply", "small", "0123456789abcdef", True)
    ]
    assert "@" in begin["who"]
    assert (end["changes"], end["count"], end["failure"]) == (["work"], 1, "")
    assert begin["begun"] <= end["ended"]
    assert not log(nodes["n2"]).exists(), "it was not changed"
    assert report.hosts["n1"].commands == 1, "the log costs no command"
    assert "secret" not in log(nodes["n1"]).read_text()


def test_a_plan_records_nothing(nodes: dict[str, Server]) -> None:
    assert go(nodes, execute=False, n1="true").changed
    assert not log(nodes["n1"]).exists()


def test_a_failure_is_in_the_log(nodes: dict[str, Server]) -> None:
    assert not go(nodes, n1="fail").ok
    assert lines(nodes["n1"])[1]["failure"] == "work: why it failed"


def test_the_log_is_readable_for_root_only(nodes: dict[str, Server]) -> None:
    go(nodes, n1="true")
    assert log(nodes["n1"]).stat().st_mode & 0o777 == 0o600
    assert log(nodes["n1"]).parent.stat().st_mode & 0o777 == 0o700


def test_a_truncated_line_damages_no_later_line(nodes: dict[str, Server]) -> None:
    log(nodes["n1"]).parent.mkdir()
    log(nodes["n1"]).write_text('{"run":"cut sho')
    go(nodes, n1="true")
    state = Applies().read(["free", *log(nodes["n1"]).read_text().splitlines()])
    assert (state.damaged, [run.changes for run in state.runs]) == (1, [("work",)])


@pytest.mark.parametrize("line", ["[" * 200_000, '{"run":"r","begun":["' + "x" * 9, "\\x00", "[]", '"r"'])
def test_lines_that_a_node_made_up_are_counted(line: str) -> None:
    assert Applies().read(["free", line]).damaged == 1


def test_a_record_of_a_node_cannot_look_like_lines_of_other_runs() -> None:
    words = dict.fromkeys(("run", "begun", "who", "command", "version", "cluster", "commit"), "a\nb\x1b")
    (run,) = Applies().read(["free", json.dumps({**words, "uncommitted": False})]).runs
    assert not any("\n" in text for text in (run.run, run.begun, run.who, run.command, run.version, run.cluster))


def test_a_large_log_is_rotated_once(nodes: dict[str, Server]) -> None:
    log(nodes["n1"]).parent.mkdir()
    log(nodes["n1"]).write_text("x" * 262143 + "\n")
    go(nodes, n1="true")
    assert len(lines(nodes["n1"])) == 2
    assert log(nodes["n1"]).with_name("applies.jsonl.1").stat().st_size == 262144


# a run in a separate process, which is killed while it works
KILLED = """
import sys
from gpupool.engine.drive import NodeHost, Origin, run
from pyinfra.operations import server
def work():
    server.shell(name="work", commands=["sleep 1000"])
run([NodeHost("n1", (), eval(sys.argv[1]))], work, execute=True, origin=Origin("apply", "small", "ann@desk"))
"""


def test_a_killed_run_has_a_begin_and_no_end(nodes: dict[str, Server]) -> None:
    killed = subprocess.Popen([sys.executable, "-c", KILLED, repr(nodes["n1"].data)], cwd=ROOT)
    try:
        until(lambda: "sleep 1000" in (nodes["n1"].asked.read_text() if nodes["n1"].asked.exists() else ""), "it works")
    finally:
        killed.kill()
        killed.wait()
    until(lambda: lines(nodes["n1"]), "the begin is there")
    (begin,) = lines(nodes["n1"])
    (there,) = Applies().read(["free", json.dumps(begin)]).runs
    assert (there.ended, there.under_way) == ("", False)
    (there,) = Applies().read(["busy", json.dumps(begin)]).runs
    assert there.under_way
