"""The first facts of operations are read with one command for each node, with the same answers as separate commands."""

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from origin import ORIGIN
from pyinfra import host
from pyinfra.api import operation
from pyinfra.api.exceptions import ConnectError
from pyinfra.connectors.fake import FakeConnector

from gpupool.engine.ahead import Batch
from gpupool.engine.drive import NodeHost, Report, run
from gpupool.facts import service as service_facts
from gpupool.facts.base import Fact
from gpupool.facts.files import Paths
from gpupool.facts.record import RECORD
from gpupool.facts.script import Question, ask
from gpupool.facts.service import Unit
from gpupool.operations import files, service
from gpupool.wanted import File
from gpupool.wording import changed

SYSTEMCTL = """#!/bin/sh
echo "$*" >>"$0.log"
first=; while [ "$1" != -- ]; do shift; done; shift
for unit in "$@"; do
  [ -z "$first" ] || echo; first=no
  printf 'LoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\nNeedDaemonReload=no\\n'
  printf 'InvocationID=of-%s\\nInactiveExitTimestamp=Sat 2096-11-21 08:00:00.500000 UTC\\n' "$unit"
done
"""


@pytest.fixture(autouse=True)
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine with a fake systemctl that shows every unit as running, a folder of stamps and a record of files."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").write_text(SYSTEMCTL)
    (tmp_path / "bin/systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "stamps").mkdir()
    monkeypatch.setattr(service_facts, "STAMPS", str(tmp_path / "stamps"))
    monkeypatch.setattr(files, "_PRELUDE", files._PRELUDE.replace(RECORD, f"{tmp_path}/record"))
    return tmp_path


def answers(questions: Mapping[str, Question]) -> dict[str, list[str]]:
    """Ask a shell of this machine, like a node."""
    batch = Batch(questions)
    done = subprocess.run(
        ["sh", "-c", batch.command.get_raw_value()], input=batch.script, capture_output=True, text=True, check=False
    )
    return batch.answers(done.stdout.splitlines())


def alone(question: Question) -> list[str]:
    done = subprocess.run(["sh", "-c", question.get_raw_value()], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def on_this_machine(deploy: Any, execute: bool = False) -> Report:
    report = run([NodeHost("here", (), {}, "local")], deploy, execute=execute, origin=ORIGIN)
    assert report.ok, report.failures
    return report


def some_files(folder: Path, text: str = "as wanted\n") -> list[File]:
    paths = [folder / f"file {number}" for number in range(10)]
    for path in paths:
        path.write_text("as wanted\n")
        path.chmod(0o644)
    return [File(str(path), text, str(os.geteuid()), str(os.getegid())) for path in paths]


def owned(file: File) -> File:
    path = Path(file.path)
    return File(file.path, file.text, path.owner(), path.group())


def test_a_plan_without_changes_sends_one_command_to_a_node(node: Path) -> None:
    wanted = [owned(file) for file in some_files(node)]

    def deploy() -> None:
        for file in host.loop(wanted):
            files.put(files=[file])
            service.running(unit=f"{Path(file.path).name[-1]}.service", restart_if=[file.path])

    assert not on_this_machine(deploy).changed
    assert (report := on_this_machine(deploy, execute=True)).ok
    assert report.hosts["here"].commands == on_this_machine(deploy).hosts["here"].commands == 1
    assert len((node / "bin/systemctl.log").read_text().splitlines()) == 6, "systemd and all units, in each run"


def test_after_a_change_operations_read_again(node: Path) -> None:
    first, second, *_ = (owned(file) for file in some_files(node))
    Path(first.path).unlink()

    @operation()
    def writes() -> Any:
        yield f"rm '{second.path}'"

    def deploy() -> None:
        files.put(name="first", files=[first])
        writes(name="by hand")
        files.put(name="second", files=[second])

    report = on_this_machine(deploy, execute=True)
    assert [change.operation.partition(" | ")[0] for change in report.hosts["here"].changes] == [
        "first",
        "by hand",
        "second",
    ]
    assert Path(second.path).read_text() == second.text
    assert [line.split("\t")[0] for line in (node / "record").read_text().splitlines()] == [first.path, second.path]


def test_a_plan_includes_its_own_changes_in_facts_read_ahead(node: Path) -> None:
    wanted, *others = (owned(file) for file in some_files(node))
    Path(wanted.path).write_text("as it was\n")

    def deploy() -> None:
        files.put(name="file", files=[wanted])
        files.put(name="others", files=others)
        service.running(name="daemon", unit="a.service", restart_if=[wanted.path])
        service.running(name="other daemon", unit="b.service", restart_if=[others[0].path])

    changes = {change.operation: changed(change) for change in on_this_machine(deploy).hosts["here"].changes}
    assert list(changes) == [f"file | {wanted.path}", "daemon | restart a.service"]
    assert "-as it was\n+as wanted\n" in str(changes[f"file | {wanted.path}"])


def test_facts_about_files_are_the_same_read_together_or_alone(node: Path) -> None:
    one, two, three, *_ = (file.path for file in some_files(node))
    Path(three).unlink()
    Path(three).symlink_to(one)
    questions = {
        "same": Paths().command([one], {one: files.sha256_of("as wanted\n")}),
        "differs": Paths().command([two, one], {two: files.sha256_of("other\n")}),
        "not shown": Paths().command([three, two]),
        "missing": Paths().command([f"{node}/nothing"]),
    }
    got = answers(questions)
    assert {key: sorted(lines) for key, lines in got.items()} == {
        key: sorted(alone(question)) for key, question in questions.items()
    }
    assert any(line.startswith("T\t") for line in got["differs"])
    assert not any(line.startswith("T\t") for line in got["not shown"]), "shown to another question only"


def test_one_file_with_two_wanted_texts_is_read_twice(node: Path) -> None:
    path = some_files(node)[0].path
    questions = {
        text: Paths().command([path], {path: files.sha256_of(text)}) for text in ("as wanted\n", "otherwise\n")
    }
    assert answers(questions) == {text: alone(question) for text, question in questions.items()}


def test_facts_about_units_are_the_same_read_together_or_alone(node: Path) -> None:
    one, two, *_ = (file.path for file in some_files(node))
    (node / "stamps/b@x\\x2d1.service").write_text(f"of-b\n123  {one}\n")
    questions = {
        "a": Unit().command("a.service", [one, two]),
        "b": Unit().command("b@x\\x2d1.service", [one, f"{node}/nothing"]),
        "c": Unit().command("c.timer"),
    }
    got = answers(questions)
    assert {key: sorted(lines) for key, lines in got.items()} == {
        key: sorted(alone(question)) for key, question in questions.items()
    }
    assert Unit().process(got["b"]).stamp_sums == {one: "123"}  # type: ignore[union-attr]
    assert Unit().process(got["c"]).invocation == "of-c.timer"  # type: ignore[union-attr]


def test_a_unit_without_an_answer_does_not_get_its_neighbours(node: Path) -> None:
    systemctl = node / "bin/systemctl"
    systemctl.write_text(SYSTEMCTL.replace('"$@"; do', '"$@"; do [ "$unit" != a@.service ] || continue;'))
    assert answers({key: Unit().command(f"{key}.service") for key in ("a@", "b")}) == {}


def test_a_fact_that_is_killed_or_fails_is_left_to_a_separate_command() -> None:
    questions = {
        "killed": ask("echo begun; sh -c 'kill -9 $PPID'"),
        "fails": ask("exit 3"),
        "reads": ask("cat; echo 'no script'"),
        "a": ask('echo "$1"', "it's"),
    }
    assert answers(questions) == {"reads": ["no script", "gpupool-end"], "a": ["it's", "gpupool-end"]}


def test_answers_before_a_kill_are_used() -> None:
    questions = {"a": ask("echo a", limit=5), "killed": ask("kill -9 $$", limit=7), "b": ask("echo b", limit=5)}
    assert answers(questions) == {"a": ["a", "gpupool-end"]}
    assert Batch(questions).command.get_raw_value().startswith("timeout -s KILL 7 ")


def test_no_fact_leaves_anything_to_the_next() -> None:
    questions = {
        "sets": ask("set -eu; x=1; umask 077; cd /; trap 'echo gone' EXIT; f() { :; }; echo \"$#\"", "a", "b"),
        "next": ask('echo "${x-unset} $# $(umask) $-"; pwd; f 2>/dev/null || echo none'),
    }
    assert answers(questions)["next"] == alone(questions["next"])


def test_an_answer_without_a_final_newline_spoils_no_other() -> None:
    assert answers({"cut": ask("printf x; exit 0"), "a": ask("echo a")}) == {}


class Number(Fact[int]):
    """A number that differs each time it is read."""

    def command(self, file: str, of: str) -> Question:
        return ask('echo "$2" >>"$1"; wc -l <"$1"', file, of)

    def read(self, lines: list[str]) -> int:
        return int(lines[0])


@operation()
def asks(file: str, of: str, seen: list[str]) -> Any:
    host.get_fact(Number, file=file, of=of)
    seen.append(of)
    host.noop("seen")
    yield from ()


@pytest.mark.parametrize("execute", [False, True])
def test_facts_read_ahead_are_not_read_or_run_twice(node: Path, execute: bool) -> None:
    log, seen = node / "asked", list[str]()

    def deploy() -> None:
        asks(file=str(log), of="a", seen=seen)
        asks(file=str(log), of="b", seen=seen)

    assert on_this_machine(deploy, execute).hosts["here"].commands == 1
    assert log.read_text().split() == seen == ["a", "b"]


def test_no_node_is_connected_to_only_to_read_facts_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def away(connector: Any) -> None:
        tried.append(connector.host.name)
        raise ConnectError("away")

    monkeypatch.setattr(FakeConnector, "connect", away)

    @operation()
    def asks_another() -> Any:
        other: Any = host.state.inventory.get_host("@fake/b", default=None)
        with suppress(ConnectError):
            other.get_fact(Number, file="/dev/null", of="b")
        host.noop("asked")
        yield from ()

    nodes = [NodeHost("a", (), {}, "local"), NodeHost("b", (), {}, "fake")]
    assert run(nodes, asks_another, execute=False, origin=None, limit=["a"]).ok
    assert tried == ["@fake/b"]
