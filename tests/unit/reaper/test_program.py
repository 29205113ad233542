"""The program on a node, with real processes of other users, in a separate PID namespace."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pace import until

from gpupool.node.processes import read
from gpupool.programs.reaper.end import Ended, end

ROOT = Path(__file__).parents[3]
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
USER, SYSTEM, OVERFLOW_USER = 20001, 200, 65534
SETTINGS = {
    "strays": {"grace": 0, "patience": 3, "spare_users": ["root"], "spare_containers": True},
    "vscode": {"grace": 3600, "patience": 3},
}
SETTINGS["strays"]["spare_users_with_jobs"] = False

#: Starts processes, each as [name, uid, program, first word, other words], and the reaper as often as requested; prints
#: the reaper's output, and the processes that are left.
DRIVER = """
import json, os, subprocess, sys
asked = json.load(sys.stdin)
there = {}
for name, uid, program, *words in asked["processes"]:
    there[name] = subprocess.Popen(words, executable=program, user=uid, stdout=subprocess.PIPE)
    if name in asked["ready"]:
        there[name].stdout.readline()
runs = []
for words in asked["runs"]:
    done = subprocess.run([sys.executable, "-I", "-c", asked["program"], *words], capture_output=True, text=True)
    runs.append([done.returncode, done.stdout, done.stderr, [n for n, p in there.items() if p.poll() is None]])
print(json.dumps(runs))
"""
SLEEP = ("/bin/sleep", "sleep", "600")
#: Ignored signals stay ignored after exec.
DEAF = ("/bin/sh", "sh", "-c", "trap '' TERM; echo ready; exec sleep 600")


def _allowed() -> bool:
    return os.geteuid() == 0 and subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


needs_root = pytest.mark.skipif(not _allowed(), reason="needs root, and a PID namespace")


class Reaped:
    """The fate of processes in a run, and the messages about them."""

    def __init__(self, status: int, text: str, errors: str, left: list[str]) -> None:
        assert errors == ""
        self.status, self.text, self.left = status, text, left


def reap(folder: Path, processes: dict[str, tuple[Any, ...]], *runs: str, **changed: Any) -> list[Reaped]:
    """Start processes, and then the reaper once for each of `runs`, with its arguments."""
    settings = {kind: {**values, **changed} for kind, values in SETTINGS.items()}
    (folder / "reaper.json").write_text(json.dumps(settings))
    program = (
        f"import sys, runpy; sys.path[:0] = [{str(ROOT / 'gpupool/programs')!r}, {str(ROOT)!r}]; "
        "runpy.run_module('reaper', run_name='__main__', alter_sys=False)"
    )
    asked = {
        "processes": [[name, *values] for name, values in processes.items()],
        "ready": [name for name in processes if name.startswith("deaf")],
        "runs": [[run.split()[0], str(folder / "reaper.json"), *run.split()[1:]] for run in runs],
        "program": program,
    }
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-I", "-c", DRIVER],
        input=json.dumps(asked),
        env={**os.environ, "RUNTIME_DIRECTORY": str(folder / "state"), "JOURNAL_STREAM": "8:1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [Reaped(*run) for run in json.loads(done.stdout)]


@needs_root
@pytest.mark.promise("SKY-160")
def test_only_strays_are_ended(tmp_path: Path) -> None:
    processes = {
        "stray": (USER, *SLEEP),
        "root": (0, *SLEEP),
        "system": (SYSTEM, *SLEEP),
        "overflow": (OVERFLOW_USER, *SLEEP),
    }
    (run,) = reap(tmp_path, processes, "strays")
    assert run.left == ["root", "system", "overflow"]
    assert run.status == 0
    line, count = run.text.splitlines()
    assert "(sleep)" in line
    assert f"of {USER}, outside of jobs" in line
    assert count == "1 terminated, 0 killed, 0 does not end, 0 within their grace"


@needs_root
@pytest.mark.promise("SKY-160")
def test_a_dry_run_ends_nothing(tmp_path: Path) -> None:
    dry, wet = reap(tmp_path, {"stray": (USER, *SLEEP)}, "strays --dry-run", "strays")
    assert dry.left == ["stray"]
    assert "would be ended: PID" in dry.text
    assert wet.left == []


@needs_root
def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    (run,) = reap(tmp_path, {"deaf": (USER, *DEAF)}, "strays")
    assert run.left == []
    assert "killed: PID" in run.text


@needs_root
def test_the_grace_time_of_a_process_begins_when_it_is_first_seen(tmp_path: Path) -> None:
    stray = {"stray": (USER, *SLEEP)}
    first, dry = reap(tmp_path, stray, "strays", "strays --dry-run", grace=1000)
    assert first.left == dry.left == ["stray"]
    assert "would be ended in 17 min: PID" in dry.text
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    # new processes have no history
    (run,) = reap(tmp_path, stray, "strays", grace=1000)
    assert run.left == ["stray"]
    # a shorter grace time also applies to processes that were seen before
    kept = tmp_path / "state" / "seen.json"
    kept.write_text("no JSON")
    first, later = reap(tmp_path, stray, "strays", "strays", grace=0.000001)
    assert first.left == ["stray"]
    assert later.left == []


@needs_root
def test_a_new_process_has_the_grace_that_is_left_to_its_user(tmp_path: Path) -> None:
    """Otherwise a process that forks and ends before each run would never be ended."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "seen.json").write_text(json.dumps({f"user {USER}": 0.0}))
    (run,) = reap(tmp_path, {"forked": (USER, *SLEEP), "other": (20002, *SLEEP)}, "strays", grace=1)
    assert run.left == ["other"]
    assert "1 terminated, 0 killed, 0 does not end, 1 within their grace" in run.text


@needs_root
def test_no_process_is_ended_if_a_spared_user_has_no_uid(tmp_path: Path) -> None:
    (run,) = reap(tmp_path, {"stray": (USER, *SLEEP)}, "strays", spare_users=["root", "no-such-user"])
    assert run.status == 1
    assert run.left == ["stray"]
    assert "there is no user no-such-user on this node, so nothing is ended" in run.text


@needs_root
def test_a_session_with_a_process_of_root_below_it_is_spared(tmp_path: Path) -> None:
    """Like sudo, seen from outside: a process of a user, and below it a process of root."""
    admin = "import os, signal, sys\nif os.fork():\n os.setuid(20001); print(flush=True)\nsignal.pause()"
    processes = {"deaf admin": (0, sys.executable, "python3", "-c", admin), "stray": (20002, *SLEEP)}
    (run,) = reap(tmp_path, processes, "strays")
    assert run.left == ["deaf admin"]


@needs_root
@pytest.mark.promise("SKY-050")
def test_by_hand_vscode_servers_of_all_users_are_ended(tmp_path: Path) -> None:
    server = "/nethome/u/.vscode-server/bin/0ee0/node"
    processes = {
        "one": (USER, "/bin/sleep", server, "600"),
        "two": (20002, "/bin/sleep", server, "600"),
        "editor": (USER, *SLEEP),
    }
    timer, dry, hand = reap(tmp_path, processes, "vscode --leftovers", "vscode --dry-run", "vscode")
    assert timer.left == dry.left == ["one", "two", "editor"], "within its grace; a dry run"
    assert hand.left == ["editor"]
    assert "2 terminated" in hand.text


def test_a_pid_that_was_reused_is_not_signalled() -> None:
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            process = read(child.pid)
            assert process
            for other in (
                replace(process, began=process.began - 1),
                replace(process, uid=USER),
                replace(process, groups=("/system.slice/slurmstepd.scope/job_1/step_0/user/task_0",)),
            ):
                ended = end([other], 3)
                assert ended == Ended()
            assert child.poll() is None
            assert end([process], 3).terminated == [process]
            assert child.wait() == -signal.SIGTERM
        finally:
            child.kill()
    assert end([process], 3).terminated == []


def test_a_stopped_process_ends(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as child:
        child.send_signal(signal.SIGSTOP)
        until(lambda: "T (stopped)" in Path(f"/proc/{child.pid}/status").read_text(), "it is stopped")
        process = read(child.pid)
        assert process
        assert end([process], 3).terminated == [process]


def test_a_process_name_of_any_characters_is_read(tmp_path: Path) -> None:
    name = ") R 1\n(\x1b"
    (tmp_path / name).symlink_to("/bin/sleep")
    with subprocess.Popen(["sleep", "600"], executable=tmp_path / name) as child:
        until(lambda: Path(f"/proc/{child.pid}/comm").read_text() != "python3\n", "it runs")
        process = read(child.pid)
        child.kill()
    assert process
    assert process.parent == os.getpid()
    assert process.name == ") R 1?(?"
    assert read(child.pid) is None
