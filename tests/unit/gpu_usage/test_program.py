"""gpu_usage on a node, with a fake squeue that prints a recorded queue, and the service that asks for all users."""

import json
import os
import shlex
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import arbitrated
import pytest
from inventories import cluster_at

from gpupool.compile.system import tools
from gpupool.programs.gpu_usage import shared
from gpupool.slurm import snapshot
from gpupool.slurm.jobs import entries

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "tests" / "unit" / "arbiter"
#: As on a node: the programs of gpupool and the standard library, and no other modules.
PYTHON = [sys.executable, "-P", "-B", "-m"]
SQUEUE = """#!/bin/sh
echo "$1 $SLURM_BITSTR_LEN ${SQUEUE_USERS-}" >>"$FOLDER/asked"
[ -e "$FOLDER/down" ] && { echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }
[ -e "$FOLDER/killed" ] && exit 137
mark=$(expr "$4" : '[^:]*:0\\(m[0-9a-f]*\\),')
sed "s/@MARK@/$mark/g" "$FOLDER/squeue"
"""


class Head:
    """A node, simulated in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "s"
        (folder / "bin").mkdir()
        (folder / "bin" / "squeue").write_text(SQUEUE)
        (folder / "bin" / "squeue").chmod(0o755)
        self.env = {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT / 'gpupool' / 'programs'}:{ROOT}",
            "FOLDER": str(folder),
            "LC_ALL": "C.UTF-8",
        }
        self.queue("24.11")
        self.settings()

    def queue(self, version: str) -> None:
        recorded = (RECORDED / version / "squeue.json").read_text()
        (self.folder / "squeue").write_text(arbitrated.shown(recorded, "@MARK@"))

    def settings(self, **changed: object) -> None:
        data = tools.settings(cluster_at(ROOT / "inventory" / "skynet"))
        data |= {"folder": str(self.folder), "socket": str(self.socket), **changed}
        (self.folder / "settings.json").write_text(json.dumps(data))

    def command(self, *options: str) -> list[str]:
        return [*PYTHON, "gpu_usage", str(self.folder / "settings.json"), *options]

    def run(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {**self.env, **environment}
        return subprocess.run(self.command(*options), capture_output=True, text=True, check=False, env=env)

    @property
    def asked(self) -> list[str]:
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def head(tmp_path: Path) -> Head:
    return Head(tmp_path)


@contextmanager
def service(head: Head, *command: str) -> Iterator[None]:
    """Run the service as systemd does: its socket is file descriptor 3."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(head.socket))
        listening.listen(100)
        start = ["bash", "-c", f'exec "$@" 3<&{listening.fileno()}', "bash", *command]
        env = {**head.env, "LISTEN_FDS": "1", "RUNTIME_DIRECTORY": str(head.folder)}
        with subprocess.Popen(start, env=env, pass_fds=[listening.fileno()]) as process:
            try:
                yield
            finally:
                process.terminate()


@pytest.fixture
def served(head: Head) -> Iterator[Head]:
    """The service runs, and its cached answers are valid for the whole test."""
    lasting = "from gpu_usage import shared; shared.FRESH = 1_000_000; shared.main()"
    with service(head, sys.executable, "-P", "-B", "-c", lasting):
        yield head


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
@pytest.mark.promise("SKY-115")
def test_the_table_of_labs(served: Head, version: str) -> None:
    served.queue(version)
    done = served.run("-l")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["LAB", "RUNNING", "PENDING", "CAP", "LEFT", "OVERCAP", "titan_x", "2080_ti", "rtx_6000", "a40"]
    assert ["cvmlp-lab", "6", "6", "64", "59", "1", "6", "0", "0", "0"] in lines
    assert ["kira-lab", "0", "0", "32", "32", "0", "0", "0", "0", "0"] in lines
    assert done.stdout.endswith("\n6 of the cluster's 284 GPUs are in use.\n")
    assert "\x1b" not in done.stdout


@pytest.mark.promise("SKY-113", "SKY-114")
def test_users_of_all_labs_or_of_one_are_listed(served: Head) -> None:
    done = served.run("-u")
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:3]] == [
        ["u-cvmlp1", "cvmlp-lab", "6"],
        ["u-cvmlp2", "cvmlp-lab", "0"],
    ]
    assert "u-cvmlp1" in served.run("-u", "-p", "cvmlp-lab").stdout
    assert "u-cvmlp1" not in served.run("-u", "-p", "kira-lab").stdout


def test_json_has_the_values_of_the_table(served: Head) -> None:
    data = json.loads(served.run("--json", "-l", "-p", "cvmlp-lab").stdout)
    counts = {"running": 6, "pending": 6, "overcap": 1, "cpus": 5, "types": {"titan_x": 6}}
    assert data["rows"] == [{"name": "cvmlp-lab", "cap": 64, "left": 59, **counts}]
    assert (data["by"], data["total"]) == ("lab", {"name": "total", **counts})
    assert json.loads(served.run("--json", "-p").stdout)["rows"][0]["name"] == "short"


def test_many_users_cost_one_query(served: Head) -> None:
    running = [subprocess.Popen(served.command(), env=served.env, stdout=subprocess.PIPE) for _ in range(12)]
    outputs = {process.communicate()[0] for process in running}
    assert len(outputs) == 1
    assert served.asked == ["--all 0 "]


def shared_by_the_arbiter(head: Head, at: float) -> Path:
    """Write the recorded queue as an arbiter has read it at a time; return the file."""
    file = head.folder / "arbiter.json"
    recorded = entries((RECORDED / "24.11" / "squeue.json").read_text())
    file.write_text(snapshot.text(recorded, at, 30))
    return file


def test_where_an_arbiter_shares_the_queue_slurmctld_is_not_asked(head: Head) -> None:
    asked = shared.Service(head.folder, Path("/nowhere"))
    at = time.time() - 10
    sharing = shared.Service(head.folder, shared_by_the_arbiter(head, at))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in head.env.items():
            patch.setenv(name, value)
        assert asked.answer() == "ok"
        by_squeue = json.loads((head.folder / "queue.json").read_text())
        assert sharing.answer() == "ok"
    by_arbiter = json.loads((head.folder / "queue.json").read_text())
    assert head.asked == ["--all 0 "]
    assert by_arbiter["jobs"] == by_squeue["jobs"]
    assert by_arbiter["at"] == at
    assert by_arbiter["until"] > time.time()


@pytest.mark.parametrize("age", [31, -60, None], ids=["old", "from the future", "not one"])
def test_a_queue_that_no_arbiter_renews_is_not_used(head: Head, age: int | None) -> None:
    file = shared_by_the_arbiter(head, time.time() - (age or 0))
    if age is None:
        file.write_text('{"at": 1')
    with pytest.MonkeyPatch.context() as patch:
        for name, value in head.env.items():
            patch.setenv(name, value)
        assert shared.Service(head.folder, file).answer() == "ok"
    assert head.asked == ["--all 0 "]


def test_the_answer_is_readable_for_all_and_writable_for_its_owner(served: Head) -> None:
    served.run()
    assert stat.S_IMODE((served.folder / "queue.json").stat().st_mode) == 0o644
    assert not list(served.folder.glob("*.new"))


def test_a_controller_that_does_not_answer_is_an_error_and_not_asked_again_by_each_user(served: Head) -> None:
    (served.folder / "down").touch()
    for _ in range(3):
        done = served.run("-l")
        why = "squeue: slurm_load_jobs error: Unable to contact slurm controller"
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"gpu_usage: cannot read the queue: {why}\n"
    assert len(served.asked) == 1


def test_a_squeue_that_fails_without_output_is_reported_with_its_exit_code(served: Head) -> None:
    (served.folder / "killed").touch()
    done = served.run("-l")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "gpu_usage: cannot read the queue: squeue: exit code 137\n"


def test_open_connections_and_long_requests_block_no_other_user(served: Head) -> None:
    held = []
    for _ in range(50):
        calling = socket.socket(socket.AF_UNIX)
        calling.connect(str(served.socket))
        calling.setblocking(False)
        held.append(calling)
        try:
            calling.send(b'{"at": 9e9, "jobs": []}\n' * 100)
        except OSError:
            continue
    gone = socket.socket(socket.AF_UNIX)
    gone.connect(str(served.socket))
    gone.close()
    assert "cvmlp-lab" in served.run("-l").stdout
    assert len(served.asked) == 1
    for calling in held:
        calling.close()


def test_without_the_service_squeue_is_not_called(head: Head) -> None:
    done = head.run()
    assert done.returncode == 1
    assert "(is gpupool-queue.socket active?)" in done.stderr
    assert head.asked == []


def test_where_slurm_hides_jobs_each_user_sees_only_their_own(head: Head) -> None:
    head.settings(private=True)
    done = head.run("-u", SQUEUE_USERS="root")
    assert done.stdout.endswith("Slurm shows you only your own jobs.\n")
    assert head.asked == ["--all 0 "], "with a user's own settings it would be another answer"
    assert not (head.folder / "queue.json").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["-u", "-p", "no-lab"], "there is no lab or partition no-lab; there are: essa-lab"),
        (["-u", "-l"], "use one of -u and -l"),
        (["-u", "-p"], "-p needs a NAME here"),
        (["--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_an_invalid_option_is_an_error(served: Head, options: list[str], why: str) -> None:
    done = served.run(*options)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_help_is_printed(head: Head) -> None:
    done = head.run("--help")
    assert done.returncode == 0
    for option in ("--users", "--labs", "--partition", "--json", "--color"):
        assert option in done.stdout


def test_a_pipe_that_closes_early_is_no_error(served: Head) -> None:
    line = " ".join(f"'{word}'" for word in served.command())
    done = subprocess.run(f"{line} | head -n1; {line} | true", shell=True, env=served.env, capture_output=True)
    assert done.stderr == b""


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_in_a_terminal_the_table_has_colours_and_bars(
    served: Head, environment: dict[str, str], coloured: bool
) -> None:
    line = f"stty cols 120; exec {shlex.join(served.command())}"
    env = {**served.env, "TERM": "xterm", **environment}
    # script(1) gives the command a terminal
    done = subprocess.run(
        ["script", "-qec", line, "/dev/null"], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    output = done.stdout.decode()
    assert done.returncode == 0, output
    assert ("\x1b[" in output) == coloured
    assert "▊·········" in output


def test_the_service_runs_with_the_socket_of_systemd(head: Head) -> None:
    """Without its socket, its message names the unit to start."""
    with service(head, *PYTHON, "gpu_usage.shared"):
        done = head.run("-u")
    assert (done.returncode, done.stderr) == (0, "")
    alone = subprocess.run([*PYTHON, "gpu_usage.shared"], env=head.env, capture_output=True, text=True, check=False)
    assert (alone.returncode, alone.stderr) == (1, "gpupool-queue: start gpupool-queue.socket instead\n")


def test_an_idle_service_exits(head: Head) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(head.socket))
        listening.listen()
        shared.Service(head.folder).run(listening, idle=0.01)
    assert head.asked == []
