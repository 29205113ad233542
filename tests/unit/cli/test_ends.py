"""Every command ends with one line and an exit code: full disks, closed outputs, signals at any moment."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inventories import SMALL
from pace import until

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


@pytest.mark.parametrize("command", ["check", "render", "--help"])
def test_a_terminal_that_is_gone_is_one_line_and_exit_1(command: str) -> None:
    """Under nohup or setsid a command survives its terminal, to which each write is an error then."""
    master, terminal = pty.openpty()
    os.close(master)
    words = [*COMMAND, command, *([] if command == "--help" else [str(SMALL)])]
    done = subprocess.run(words, stdout=terminal, stderr=subprocess.PIPE, text=True, check=False)
    os.close(terminal)
    assert (done.returncode, done.stderr) == (1, "cannot write the output: Input/output error\n")


def test_a_file_that_the_disk_does_not_give_is_one_line(
    gpupool: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux gives no first byte of a process's memory, as of a bad sector; Python does not name the file then."""
    state = tmp_path / "gpupool" / "testbeds" / "small" / "state.json"
    state.parent.mkdir(parents=True)
    state.symlink_to("/proc/self/mem")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = gpupool("testbed", "status", SMALL)
    assert (done.code, done.err) == (1, "a file cannot be read or written: Input/output error (dmesg names its disk)\n")


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


def test_init_on_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit of the size of files stands for a full disk; the largest file of an inventory is the schema."""
    for site in (tmp_path / "site", tmp_path / "empty"):
        if site.name == "empty":
            site.mkdir()
        done = gpupool_alone('ulimit -f 16; exec "$@"', "init", site)
        assert (done.returncode, done.stderr) == (1, f"{site}: File too large\n")
    assert [*tmp_path.rglob("*")] == [tmp_path / "empty"]
    assert gpupool_alone('exec "$@"', "init", site).returncode == 0


WITHOUT_A_HOME = """
import os, pwd, sys
os.environ.pop("HOME", None)
def unknown(_): raise KeyError("no such user")
pwd.getpwuid = unknown
from gpupool import cli
cli.main()
"""


@pytest.mark.parametrize("line", ["plan {} --on nodes", "testbed status {}", "log {} --on nodes"])
def test_a_user_without_a_home_is_one_line(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """A container of CI may run with any user id."""
    for variable in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    words = line.format(SMALL).split()
    done = subprocess.run([sys.executable, "-c", WITHOUT_A_HOME, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"user {os.getuid()} has no home: add the user to /etc/passwd, where ssh needs it, or set HOME"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_command_that_needs_no_home_does_without(command: str) -> None:
    words = [command, str(SMALL), *(["gpu-1"] if command == "explain" else [])]
    done = subprocess.run([sys.executable, "-c", WITHOUT_A_HOME, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_of_our_own_is_not_taken_for_a_missing_home(
    gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr("gpupool.cluster.load.examine", broken)
    with pytest.raises(RuntimeError, match="ours"):
        gpupool("check", SMALL)


@pytest.mark.skipif(not Path("/sys/kernel").exists(), reason="needs a folder where even root creates none")
def test_a_home_that_cannot_be_written_is_one_line_with_the_way_out(
    gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/sys/kernel")
    done = gpupool("testbed", "up", SMALL)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.err.startswith("/sys/kernel/gpupool")
    assert "set XDG_STATE_HOME to a folder that you can write" in done.err


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


SIGNALS = [
    (signal.SIGINT, 130, "interrupted"),
    (signal.SIGTERM, 143, "terminated"),
    (signal.SIGHUP, 129, "the terminal was closed"),
]


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
    assert signal.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGHUP) == signal.SIG_DFL


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


CLEANING = """
import os, signal, sys
from pathlib import Path
from gpupool import cli
from gpupool.cluster import load
def work(*_):
    try:
        Path(sys.argv[-1]).touch()
        signal.pause()
    finally:
        print("cleaning up", flush=True)
        print("cleaning up", file=sys.stderr, flush=True)
        Path(sys.argv[-1]).with_suffix(".cleaned").touch()
load.examine = work
cli.main()
"""


def test_work_is_cleaned_up_after_the_terminal_was_closed(tmp_path: Path) -> None:
    """Each write to a closed terminal is an error, which must not replace the cleaning."""
    begun = tmp_path / "begun"
    child, terminal = pty.fork()
    if not child:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-c", CLEANING, "check", str(begun)])
    until(begun.exists, "the command works")
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert begun.with_suffix(".cleaned").exists()
    assert os.waitstatus_to_exitcode(status) == 129


def test_a_command_under_nohup_survives_its_terminal(
    gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpupool.cluster.load import examine

    def work(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGHUP)
        return examine(*arguments)

    monkeypatch.setattr("gpupool.cluster.load.examine", work)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert gpupool("check", SMALL).code == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
