"""Every command ends with one line and an exit code: full disks, closed outputs, signals at any moment."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inventories import SMALL

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "gpupool"]


def gpupool_alone(shell: str, *arguments: object, first: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a shell line with a command in a separate process; modules of the folder `first` are found first."""
    path = os.pathsep.join(map(str, filter(None, (first, ROOT, os.environ.get("PYTHONPATH")))))
    return subprocess.run(
        ["bash", "-c", shell, "bash", *COMMAND, *map(str, arguments)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["check", SMALL], ["render", SMALL], ["schema"], ["--version"], ["--help"]])
def test_a_full_disk_behind_the_output_is_one_line_and_exit_1(arguments: list[object]) -> None:
    done = gpupool_alone('"$@" > /dev/full', *arguments)
    assert (done.returncode, done.stderr) == (1, "cannot write the output: No space left on device\n")


def test_a_closed_output() -> None:
    done = gpupool_alone('"$@" >&-', "check", SMALL)
    assert (done.returncode, done.stderr) == (1, "standard output is closed\n")
    done = gpupool_alone('"$@" >&- 2>&-', "check", SMALL)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_reader_that_closes_the_pipe_gets_no_error() -> None:
    done = gpupool_alone('"$@" | head -c 1', "schema")
    assert (done.stdout, done.stderr) == ("{", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["render", SMALL, "--out", "{file}"], "{file}/ctl/etc: Not a directory"),
        (["init", "{file}/below"], "{file}/below: Not a directory"),
    ],
)
def test_a_folder_that_cannot_be_written_is_one_line(
    gpupool: Callable[..., Any], tmp_path: Path, arguments: list[object], message: str
) -> None:
    file = tmp_path / "file"
    file.touch()
    done = gpupool(*(str(argument).format(file=file) for argument in arguments))
    assert (done.code, done.err.splitlines()[-1]) == (1, message.format(file=file))


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    log = tmp_path / "none" / "log"
    done = gpupool_alone('exec "$@"', "plan", SMALL, "--on", "nodes", "--log", log)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"{log}: No such file or directory")


def test_an_inventory_that_may_not_be_read(
    gpupool: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("gpupool.cluster.load.examine", closed)
    done = gpupool("check", tmp_path)
    assert (done.code, done.err) == (1, f"{tmp_path}: Permission denied\n")


SIGNALS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]


@pytest.mark.parametrize(("number", "code", "word"), SIGNALS)
@pytest.mark.parametrize("module", ["typer", "pydantic", "yaml"])
def test_a_signal_while_modules_are_loaded(
    tmp_path: Path, number: signal.Signals, code: int, word: str, module: str
) -> None:
    """Imports take the first second of a command."""
    (tmp_path / f"{module}.py").write_text(f"import os\nos.kill(os.getpid(), {int(number)})\n")
    done = gpupool_alone('exec "$@"', "check", SMALL, first=tmp_path)
    assert (done.returncode, done.stderr) == (code, f"{word}; running it again finishes the work\n")


@pytest.mark.parametrize(("number", "code", "word"), SIGNALS)
def test_a_signal_while_a_command_works(
    gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int, word: str
) -> None:
    def work(*_: object) -> None:
        os.kill(os.getpid(), number)

    monkeypatch.setattr("gpupool.cluster.load.examine", work)
    done = gpupool("check", SMALL)
    assert (done.code, done.err) == (code, f"{word}; running it again finishes the work\n")
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize(("number", "code", "word"), SIGNALS)
def test_a_signal_while_nodes_are_at_work(tmp_path: Path, number: signal.Signals, code: int, word: str) -> None:
    """The engine handles Ctrl-C itself, and SIGTERM in the same way."""
    run = f"""
import os, sys
from pathlib import Path
from gpupool import cli
from gpupool.run import runner
from gpupool.engine.report import NodeHost
from gpupool.target import Target
Target.hosts = property(lambda target: [NodeHost("here", connector="local")])
runner.SITE = lambda: os.kill(os.getpid(), {int(number)}) or __import__("gevent").sleep(600)
sys.argv = ["gpupool", "plan", {str(SMALL)!r}, "--on", "nodes"]
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1] == f"{word}; running it again finishes the work"
    assert "Traceback" not in done.stderr
