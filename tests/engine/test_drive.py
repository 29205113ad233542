"""Runs of the engine on pyinfra's fake and local hosts: order, failures of one host, plans, results."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from origin import ORIGIN
from pace import until
from pyinfra import host, logger
from pyinfra.api import FactBase, FunctionCommand, deploy, operation
from pyinfra.api.exceptions import OperationError
from pyinfra.operations import server

from gpupool.engine.drive import NodeHost, Report, run
from gpupool.errors import GpupoolError
from gpupool.operations.apart import part
from gpupool.wording import changed

INSTANT = {"fake_delay": 0, "fake_delay_jitter": 0}


def fake(name: str, *groups: str, **data: Any) -> NodeHost:
    return NodeHost(name, groups, {**INSTANT, **data}, "fake")


def changes(report: Report, name: str) -> list[str]:
    return [change.operation for change in report.hosts[name].changes]


class Ran:
    """A progress that records the order of operations."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []
        self.stages: list[tuple[str, int]] = []
        self.failures: list[tuple[str, str]] = []
        self.done = 0

    def stage(self, name: str, total: int) -> None:
        self.steps.clear()
        self.stages.append((name, total))
        self.done = 0

    def step(self, host: str, what: str) -> None:
        self.steps.append((host, what))

    def advance(self, steps: int = 1) -> None:
        self.done += steps

    def failed(self, host: str, why: str) -> None:
        self.failures.append((host, why))

    def output(self, host: str, lines: Sequence[str]) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def tick(self) -> None:
        pass


def role(name: str) -> Callable[[], object]:
    """Like a roles folder, in which operations of different roles are on the same lines of their files."""

    @deploy(name)
    def apply() -> None:
        server.shell(name="install", commands=[f"install {name}"])
        server.shell(name="start", commands=[f"start {name}"])

    return apply


nfs, munge, slurm = role("nfs"), role("munge"), role("slurm")


def site() -> None:
    """Call each role on a separate line.

    In a plain loop over the roles all calls would be at one place of the deploy, and pyinfra would take the nfs of one
    host and the munge of another for one operation, whose order between hosts is then wrong.
    """
    if "nfs" in host.groups:
        nfs()
    if "munge" in host.groups:
        munge()
    slurm()


def in_a_loop() -> None:
    for name, role in (("nfs", nfs), ("munge", munge), ("slurm", slurm)):
        if name in host.groups or name == "slurm":
            role()


def in_a_host_loop() -> None:
    for name, role in host.loop((("nfs", nfs), ("munge", munge), ("slurm", slurm))):
        if name in host.groups or name == "slurm":
            role()


MIXED = [fake("a", "nfs"), fake("b", "munge"), fake("c", "nfs", "munge")]
IN_ORDER = [
    *[(name, f"nfs | {step}") for step in ("install", "start") for name in "ac"],
    *[(name, f"munge | {step}") for step in ("install", "start") for name in "bc"],
    *[(name, f"slurm | {step}") for step in ("install", "start") for name in "abc"],
]


@pytest.mark.parametrize("roles", [site, in_a_host_loop])
def test_hosts_with_different_roles_run_each_step_together(roles: Callable[[], object]) -> None:
    ran = Ran()
    assert run(MIXED, roles, execute=True, origin=ORIGIN, progress=ran).ok
    assert ran.steps == IN_ORDER
    assert ran.stages == [("Connect", 3), ("Prepare", 3), ("Execute", 14)]
    assert ran.done == 14


def test_a_plain_loop_over_roles_would_break_the_order() -> None:
    ran = Ran()
    assert run(MIXED, in_a_loop, execute=True, origin=ORIGIN, progress=ran).ok
    assert ran.steps.index(("a", "slurm | start")) < ran.steps.index(("c", "munge | start"))


SITE_FILE = """
    from pyinfra import host
    from pyinfra.operations import server
    from roles_of_test import first, second
    if host.name.endswith("a"):
        first()
    server.shell(name="between", commands=["echo 2"])
    if host.name.endswith("b"):
        first()
    second()
"""
ROLES_FILE = """
    from pyinfra.api import deploy
    from pyinfra.operations import server
    @deploy("first")
    def first():
        server.shell(name="one", commands=["echo 1"])
        server.shell(name="two", commands=["echo 1"])
    @deploy("second")
    def second():
        server.shell(name="one", commands=["echo 3"])
"""


def test_a_deploy_file_runs_as_with_plain_pyinfra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site.py").write_text(textwrap.dedent(SITE_FILE))
    (tmp_path / "roles_of_test.py").write_text(textwrap.dedent(ROLES_FILE))
    (tmp_path / "inventory.py").write_text(f"nodes = [('@fake/a', {INSTANT}), ('@fake/b', {INSTANT})]")
    monkeypatch.chdir(tmp_path)
    plain = subprocess.run(
        [sys.executable, "-m", "pyinfra", "--dry", "--json", "inventory.py", "site.py"],
        env={**os.environ, "PYINFRA_PROGRESS": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = [
        (name.removeprefix("@fake/"), step["name"])
        for step in json.loads(plain.stdout)["plan"]
        for name in step["hosts_with_change"]
    ]
    ran = Ran()
    assert run([fake("a"), fake("b")], Path("site.py"), execute=True, origin=ORIGIN, progress=ran).ok
    assert ran.steps == wanted
    assert len(wanted) == 8
    report = run([fake("a"), fake("b")], Path("site.py"), execute=False, origin=None)
    assert changes(report, "a") == ["first | one", "first | two", "between", "second | one"]


class Kernel(FactBase[str]):
    def command(self) -> str:
        return "uname -r"


def troubled() -> None:
    server.shell(name="before", commands=["true"])
    trouble = host.data.get("trouble")
    if trouble == "raises":
        raise KeyError("memory")
    if trouble == "exits":
        sys.exit(3)
    if trouble == "fact":
        host.get_fact(Kernel)
    if trouble == "operation":
        server.shell(name="install", commands=["apt-get install nothing"])
    if trouble == "bad call":
        server.shell(name="call", comands=["true"])  # type: ignore[call-arg]
    server.shell(name="after", commands=["true"])


APT = {"apt-get": {"success": False, "stdout": "Reading package lists...", "stderr": "W: old\nE: no package nothing\n"}}
UNAME = {"uname": {"success": False, "stderr": "uname: cannot look"}}
TROUBLED = [
    fake("good"),
    NodeHost("dead", (), {"ssh_hostname": "127.0.0.1", "ssh_port": 1, "ssh_user": "root"}),
    fake("raises", trouble="raises"),
    fake("exits", trouble="exits"),
    fake("fact", trouble="fact", fake_responses=UNAME),
    fake("operation", trouble="operation", fake_responses=APT),
    fake("call", trouble="bad call"),
]


@pytest.mark.parametrize("execute", [False, True])
def test_a_failure_stops_one_host_and_is_reported_in_one_line(execute: bool) -> None:
    ran = Ran()
    report = run(TROUBLED, troubled, execute=execute, origin=ORIGIN, progress=ran)
    place = f"tests/engine/{Path(__file__).name}:"
    failures = {name: why.split(place)[0] for name, why in report.failures.items()}
    wanted = {
        "dead": "cannot be reached: connection refused",
        "raises": "KeyError: 'memory' (",
        "exits": "SystemExit: 3 (",
        "fact": "uname: cannot look",
        "call": failures.get("call", ""),
    }
    assert "argument" in failures["call"]
    assert failures["call"].startswith("call: TypeError: ")
    assert failures == (wanted | {"operation": "install: E: no package nothing"} if execute else wanted)
    assert changes(report, "good") == ["before", "after"]
    assert dict(ran.failures) == report.failures
    assert list(report.hosts) == [target.name for target in TROUBLED]
    assert not report.ok


@operation()
def cannot_be_read() -> Any:
    """Fail in a plan and in a run."""
    raise OperationError("no answer")
    yield


def parted() -> None:
    with part("containers"):
        cannot_be_read(name="containers")
        server.shell(name="images", commands=["pull"])
    server.shell(name="slurmd", commands=["start"])
    with part("conda"):
        cannot_be_read(name="conda")
    if host.data.get("trouble"):
        cannot_be_read(name="firewall")
    server.shell(name="last", commands=["end"])


@pytest.mark.parametrize("execute", [False, True])
def test_a_failed_part_stops_no_other_part_and_its_host_still_fails(execute: bool) -> None:
    ran = Ran()
    hosts = [fake("parts"), fake("more", trouble="yes")]
    report = run(hosts, parted, execute=execute, origin=ORIGIN, progress=ran)
    parts = "containers: no answer; conda: no answer"
    assert report.failures == {"parts": parts, "more": f"firewall: no answer; {parts}"}
    assert changes(report, "parts") == ["slurmd", "last"]
    assert changes(report, "more") == ["slurmd"]
    assert dict(ran.failures) == report.failures
    assert not execute or ran.done == ran.stages[-1][1]


def test_if_all_hosts_fail_the_report_is_complete() -> None:
    report = run(TROUBLED[1:4], troubled, execute=True, origin=ORIGIN)
    assert [name for name, host_report in report.hosts.items() if not host_report.ok] == ["dead", "raises", "exits"]
    assert json.loads(json.dumps(report.as_dict()))["hosts"]["dead"]["changes"] == []


class Reads(FactBase[str]):
    def command(self, path: str) -> str:
        return f"cat {path}"


@operation()
def careful() -> Any:
    """Read a fact at run time; with the fact's default the operation would go on and write."""
    host.get_fact(Reads, path="/etc/conf")
    yield "write /etc/conf"


def test_an_operation_whose_fact_fails_writes_nothing_and_other_hosts_continue() -> None:
    broken = {"cat": {"success": False, "stderr": "cat: Input/output error"}}

    def site() -> None:
        careful(name="Conf")
        server.shell(name="after", commands=["true"])

    report = run([fake("a", fake_responses=broken), fake("b")], site, execute=True, origin=ORIGIN)
    assert report.failures == {"a": "Conf: cat: Input/output error"}
    assert changes(report, "a") == []
    assert changes(report, "b") == ["Conf", "after"]
    assert report.hosts["a"].commands == 1


@operation()
def explodes() -> Any:
    def callback(message: str) -> None:
        raise GpupoolError(message)

    yield FunctionCommand(callback, ("the key at c cannot be read: \n look at c",), {})


def test_a_functions_error_is_the_reason() -> None:
    report = run([fake("a"), fake("b")], lambda: explodes(name="Key"), execute=True, origin=ORIGIN)
    assert set(report.failures.values()) == {"Key: the key at c cannot be read: look at c"}


@operation()
def nothing() -> Any:
    host.noop("all is well")
    return
    yield


def guarded() -> None:
    quiet = nothing(name="quiet")
    changed = server.shell(name="config", commands=["true"])
    server.shell(name="reload", commands=["true"], _if=changed.did_change)
    server.shell(name="never", commands=["true"], _if=[changed.did_change, quiet.did_change])
    other = server.shell(name="restart", commands=["true"], _if=lambda: quiet.did_change() or changed.did_change())
    server.shell(name="last", commands=["true"], _if=[other.did_not_change])
    server.shell(name="tell", commands=["true"], _if=lambda: "x" in changed.stdout_lines[0])


def test_a_plan_predicts_handlers_and_an_apply_reports_which_ran() -> None:
    plan = run([fake("a")], guarded, execute=False, origin=None)
    # whether "tell" runs depends on output that does not exist yet
    assert changes(plan, "a") == ["config", "reload", "restart", "tell"]
    assert plan.hosts["a"].commands == 0
    done = run([fake("a", fake_responses={"true": "x"})], guarded, execute=True, origin=ORIGIN)
    assert changes(done, "a") == ["config", "reload", "restart", "tell"]


def test_a_plan_without_changes_is_empty() -> None:
    def quiet() -> None:
        meta = nothing(name="quiet")
        server.shell(name="reload", commands=["true"], _if=meta.did_change)

    plan = run([fake("a")], quiet, execute=False, origin=None)
    assert plan.ok
    assert not plan.changed


@operation()
def shows_diff(secret: str) -> Any:
    logger.info("  %s", "-old")
    logger.info("  %s", "\x1b[32m+new\x1b[0m")
    logger.debug("secret %s", secret)
    yield "true"


@pytest.mark.parametrize("execute", [False, True])
def test_the_diff_of_an_operation_is_in_the_report_and_its_arguments_are_not_in_the_log(
    tmp_path: Path, execute: bool
) -> None:
    log = tmp_path / "log"
    report = run([fake("a")], lambda: shows_diff(secret="hunter2"), execute=execute, origin=ORIGIN, log=log)
    assert changed(report.hosts["a"].changes[0]) == "-old\n+new"
    assert "+new" in log.read_text()
    assert "hunter2" not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_the_log_ends_the_log_and_not_the_run() -> None:
    report = run([fake("a")], lambda: shows_diff(secret="hunter2"), execute=False, origin=None, log=Path("/dev/full"))
    assert (report.ok, report.changed) == (True, True)
    assert report.log_failure == "No space left on device"


def test_names_that_differ_between_hosts_are_kept_per_host() -> None:
    def site() -> None:
        server.shell(name=f"node {host.data.where}", commands=["true"])

    report = run([fake("a", where="left"), fake("b", where="right")], site, execute=True, origin=ORIGIN)
    assert [changes(report, name) for name in "ab"] == [["node left"], ["node right"]]


def test_limit_selects_hosts_and_refuses_unknown_ones() -> None:
    report = run(MIXED, site, execute=True, origin=ORIGIN, limit=["c"])
    assert list(report.hosts) == ["c"]
    with pytest.raises(GpupoolError, match="no such node: x"):
        run(MIXED, site, execute=True, origin=ORIGIN, limit=["x", "a"])


def test_without_hosts_there_is_no_failure() -> None:
    assert run([], site, execute=True, origin=ORIGIN).ok


@pytest.mark.parametrize(("text", "message"), [(None, "cannot read the deploy"), ("def x(:\n", "SyntaxError")])
def test_an_invalid_deploy_file_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "site.py"
    if text:
        path.write_text(text)
    with pytest.raises(GpupoolError, match=message):
        run([fake("a")], path, execute=True, origin=ORIGIN)


def test_a_deploy_runs_on_this_machine(tmp_path: Path) -> None:
    def site() -> None:
        server.shell(name="make", commands=[f"touch {tmp_path}/made"])

    report = run([NodeHost("here", connector="local")], site, execute=True, origin=ORIGIN)
    assert report.ok
    assert (tmp_path / "made").exists()
    assert report.hosts["here"].commands == 1


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    run(TROUBLED, troubled, execute=True, origin=ORIGIN)
    assert capfd.readouterr() == ("", "")


SLOW = """
    import sys
    from pathlib import Path
    from gpupool.engine.drive import NodeHost, Origin, run
    from gpupool.engine import drive
    from gpupool.engine.progress import Silence
    from pyinfra.operations import server
    drive.GRACE_SECONDS = float(sys.argv[1])
    def site():
        server.shell(name="first", commands=["echo up > mark; until [ -e end ]; do sleep 0.1; done; echo down > mark"])
        server.shell(name="second", commands=["echo never > mark"])
    class Told(Silence):
        def note(self, text):
            Path("noted").touch()
    origin = Origin("apply", "small", "ann@desk")
    print(run([NodeHost("here", connector="local")], site, execute=True, origin=origin, progress=Told()).as_dict())
"""


@pytest.mark.parametrize(("grace", "mark"), [(1e6, "down"), (0.01, "up")], ids=["it ends", "it does not"])
def test_ctrl_c_lets_the_running_command_end_and_starts_no_other(tmp_path: Path, grace: float, mark: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    code = textwrap.dedent(SLOW)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(grace)], cwd=tmp_path, env=env, text=True, stdout=-1, stderr=-1
    )
    file = tmp_path / "mark"
    until(lambda: file.exists() and file.read_text(), "the first command runs")
    process.send_signal(signal.SIGINT)
    until((tmp_path / "noted").exists, "Ctrl-C was seen")
    if mark == "down":
        (tmp_path / "end").touch()
    out, err = process.communicate()
    assert file.read_text().strip() == mark
    (tmp_path / "end").touch()
    assert err == ""
    assert "'interrupted': True" in out
    assert "stopped before it finished" in out
    assert ("'operation': 'first'" in out) == (mark == "down")
    assert process.returncode == 0
