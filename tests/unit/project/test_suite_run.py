"""Layers in parallel: the order of their starts and of their output, and the effect of a failure."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from pace import until
from suite import leftovers, report
from suite.idle import Idle
from suite.layers import FULL, Layer
from suite.run import Run, Work, layer_work

from gpupool.errors import GpupoolError

ROOT = Path(__file__).parents[3]


def shell(text: str) -> tuple[tuple[str, ...], ...]:
    return (("sh", "-c", text),)


def run_of(place: Path, *layers: Layer, prepare: dict[str, str] | None = None, idle: Idle | None = None) -> Run:
    works = {
        layer.name: layer_work(layer, place / f"{layer.name}.log", place / f"{layer.name}.json", place)
        for layer in layers
    }
    made = {
        name: Work(name, shell(text), 1, place / f"prepare-{name}", os.environ)
        for name, text in (prepare or {}).items()
    }
    return Run(layers, works, made, idle)


def test_output_is_printed_in_order_whichever_layer_ends_first(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    mark = tmp_path / "mark"
    slow = Layer("unit", shell(f"until [ -e {mark} ]; do sleep 0.05; done; echo first"), 0.1)
    quick = Layer("operations", shell(f"echo second; touch {mark}"), 0.1)
    run_of(tmp_path, slow, quick).until_done()
    assert capfdbinary.readouterr().out == b"first\nsecond\n"


def test_a_command_is_killed_although_a_ctrl_c_has_left_the_lock_of_its_popen_held() -> None:
    work = Work("unit", shell("exec sleep infinity"), 1, None, os.environ)
    work.begin(0)
    assert work.process
    lock = vars(work.process)["_waitpid_lock"]  # Popen.poll takes it, and an interrupt can come before its `try`
    lock.acquire()
    work.kill()
    lock.release()
    assert work.process.wait() == -signal.SIGKILL


def test_a_failure_stops_only_the_later_commands_of_its_layer(tmp_path: Path) -> None:
    bad = Layer("unit", (*shell("exit 3"), *shell(f"touch {tmp_path}/never")), 5)
    good = Layer("operations", (*shell("true"), *shell(f"touch {tmp_path}/done")), 5)
    run = run_of(tmp_path, bad, good)
    run.until_done()
    assert [run.works[name].code for name in ("unit", "operations")] == [3, 0]
    assert not (tmp_path / "never").exists()
    assert (tmp_path / "done").exists()


def test_a_few_failed_tests_of_a_layer_with_containers_are_tried_once_more_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = " ".join(str(ROOT / name) for name in ("tests/shared", "script"))
    options = "-p times -p no:cacheprovider --import-mode importlib"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {folders}\naddopts = {options}\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "from pathlib import Path\n"
        "@pytest.fixture(scope='session')\n"
        "def cluster():\n"
        "    tried = Path('tried').exists()\n    Path('tried').touch()\n    assert tried, 'too slow'\n"
        "def test_well(): pass\n"
        "@pytest.mark.parametrize('number', range(5))\n"
        "def test_load(cluster, number): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # this test may run in a worker; the inner pytest is none
    load = [f"test_it.py::test_load[{number}]" for number in range(5)]  # one failure: their common fixture
    for needs, code, named in ((("docker",), 0, load), ((), 1, [])):
        (tmp_path / "tried").unlink(missing_ok=True)
        layer = Layer("guides", (("pytest",), *shell("echo the next command")), 1, needs)
        run = run_of(tmp_path, layer, prepare=dict.fromkeys(needs, "true"))
        run.until_done()
        assert run.works["guides"].code == code
        known = report.times(run.works, tmp_path, 1, 1)
        assert [*known["passed_at_second_try"]] == named
        assert ("passed at the second try" in report.table(known)) == bool(named)
        log = (tmp_path / "guides.log").read_text()
        assert ("the next command" in log, log.count(" passed")) == (code == 0, 1 + bool(named))


def test_only_as_many_layers_start_as_there_are_cores(tmp_path: Path) -> None:
    alone = f"mkdir {tmp_path}/busy && sleep 0.3 && rmdir {tmp_path}/busy"
    layers = [Layer(name, shell(alone), 100) for name in ("unit", "operations", "roles")]
    run = run_of(tmp_path, *layers)
    run.until_done()
    assert [work.code for work in run.works.values()] == [0, 0, 0]


def test_another_layer_starts_if_cores_are_idle_even_if_the_table_forbids_it(tmp_path: Path) -> None:
    waits = Layer("testbed", shell(f"until [ -e {tmp_path}/second ]; do sleep 0.05; done"), 100)
    second = Layer("guides", shell(f"touch {tmp_path}/second"), 100)
    looks = iter([0.0, 0.0])
    idle = Idle(2)
    idle.cores = lambda: next(looks, 1.5)  # type: ignore[method-assign]
    run = run_of(tmp_path, waits, second, idle=idle)
    run.until_done()
    assert [work.code for work in run.works.values()] == [0, 0]


def test_a_layer_waits_for_its_preparation_and_starts_even_if_that_failed(tmp_path: Path) -> None:
    needs = Layer("vm", shell(f"ls {tmp_path}/ready"), 0.1, ("docker", "machines"))
    lacks = Layer("rehearsal", shell("echo tried it"), 0.1, ("chromium",))
    made = {"docker": "sleep 0.2", "machines": f"sleep 0.2; touch {tmp_path}/ready", "chromium": "echo no; exit 1"}
    run = run_of(tmp_path, needs, lacks, prepare=made)
    run.until_done()
    assert [work.code for work in run.works.values()] == [0, 0]
    assert run.prepare["docker"].ended <= run.prepare["machines"].began  # type: ignore[operator]


def test_ctrl_c_ends_running_layers_with_their_child_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = tmp_path / "child"
    layer = Layer("unit", shell(f"trap 'kill $!; exit 1' INT; sleep infinity & echo $! > {child}; wait"), 1)

    def sleep(_: float) -> None:
        until(lambda: child.exists() and child.read_text(), "it runs")
        raise KeyboardInterrupt

    monkeypatch.setattr("suite.run.time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    # a process that ignores SIGINT passes that on to its children
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_of(tmp_path, layer).until_done()
    finally:
        signal.signal(signal.SIGINT, before)
    until(lambda: not Path(f"/proc/{child.read_text().strip()}").exists(), "what it had started has ended")


def test_the_report_adds_up_the_time_of_tests_and_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest, time\n"
        "@pytest.fixture(scope='session')\ndef one(): time.sleep(0.3)\n"
        "@pytest.fixture(scope='session')\ndef two(one): time.sleep(0.1)\n"
        "def test_a(two): pass\ndef test_b(two): time.sleep(0.2)\n"
    )
    for workers in (("-p", "no:xdist"), ("-n", "2")):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "times",
            *workers,
            str(tmp_path),
        ]
        shared = str(Path(__file__).parents[2] / "shared")
        env = {**os.environ, "GPUPOOL_TEST_TIMES": str(tmp_path / "unit.json"), "PYTHONPATH": shared}
        subprocess.run(command, env=env, cwd=tmp_path, check=True, capture_output=True)
        work = Work("unit", (), 1, None, {}, began=1.0, ended=3.0)
        known = report.times({"unit": work}, tmp_path, 2.5, 1.25)
        times = {test["test"].rpartition("::")[2]: test["seconds"] for test in known["tests"]}
        assert times["test_a"] >= 0.4
        assert times["test_b"] >= 0.2
        assert known["fixtures"]["unit: one"] >= 0.3
        assert known["fixtures"]["unit: two"] >= 0.1
        text = report.table(known)
        assert [line.split()[:3] for line in text.splitlines() if line.startswith("unit ")] == [["unit", "2", "2"]]
        (tmp_path / "unit.json").unlink()


@pytest.mark.parametrize("value", ["", "1"])
def test_long_forms_of_tests_run_only_with_the_option_full(tmp_path: Path, value: str) -> None:
    (tmp_path / "test_it.py").write_text("import full\n@full.only\ndef test_long(): open('ran', 'w')\n")
    folders = os.pathsep.join(str(ROOT / name) for name in ("tests/shared", "script"))
    env = {**os.environ, FULL: value, "PYTHONPATH": folders}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    subprocess.run(command, env=env, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "ran").exists() == bool(value)


def test_the_report_ends_with_the_failures_of_each_layer(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.fixture\ndef cluster(): raise OSError('no cluster')\n"
        "def test_a(cluster): pass\ndef test_b(cluster): pass\ndef test_c(): assert 1 == 2\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "times", "-n", "2", str(tmp_path)]
    shared = str(Path(__file__).parents[2] / "shared")
    env = {**os.environ, "GPUPOOL_TEST_FAILURES": str(tmp_path / "unit.failed"), "PYTHONPATH": shared}
    env.pop("PYTEST_XDIST_WORKER", None)  # this test may run in a worker; the inner pytest is none
    subprocess.run(command, env=env, cwd=tmp_path, check=False, capture_output=True)
    works = {
        name: Work(name, (), 1, None, {}, began=1.0, ended=3.0, code=code) for name, code in (("unit", 1), ("vm", 0))
    }
    shown = report.failures(works, tmp_path)
    assert "OSError: no cluster" in shown
    assert re.search(r"^test_it.py::test_[ab] and 1 more$", shown, re.MULTILINE)
    assert "assert 1 == 2" in shown


@pytest.fixture
def prefix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Give the tests here another prefix than the run that includes them."""
    name = f"gpupool-unit-{os.getpid()}"
    monkeypatch.setenv("GPUPOOL_TESTBED_PREFIX", name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(leftovers, "_docker_answers", lambda: False)
    return name


def test_processes_of_a_killed_run_are_ended_and_no_others(prefix: str) -> None:
    sleep = ["sleep", "infinity"]  # without a child: it could be found while its parent has no environment yet
    ours = subprocess.Popen(sleep, env={**os.environ, leftovers.MARK: prefix})
    others = subprocess.Popen(sleep, env={**os.environ, leftovers.MARK: f"{prefix}-other"})
    try:
        gone = until(leftovers.remove, "what is left is found")
        assert f"process {ours.pid} (sleep)" in gone
        assert ours.wait() == -signal.SIGKILL
        assert others.poll() is None
    finally:
        for process in (ours, others):
            process.kill()
            process.wait()


def test_two_runs_share_no_containers_and_a_dead_run_keeps_no_lock(prefix: str) -> None:
    code = (
        "import time; from suite.leftovers import only_run\nwith only_run(): print('held', flush=True); time.sleep(999)"
    )
    env = {**os.environ, "PYTHONPATH": "script"}
    other = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True)
    assert other.stdout
    assert other.stdout.readline() == "held\n"
    with pytest.raises(GpupoolError, match=f"other tests are at work .* process {other.pid}"), leftovers.only_run():
        pass
    other.kill()
    other.wait()
    with leftovers.only_run():
        pass


def test_a_short_layer_does_not_wait_for_preparations_of_others(tmp_path: Path) -> None:
    cores = float(os.cpu_count() or 1)
    quick = Layer("unit", shell(f"touch {tmp_path}/quick"), cores)
    long = Layer("vm", shell("true"), cores, ("docker", "machines"))
    prepared = {"docker": "true", "machines": f"until [ -e {tmp_path}/quick ]; do sleep 0.05; done"}
    run = run_of(tmp_path, quick, long, prepare=prepared)
    run.until_done()
    assert [work.code for work in run.works.values()] == [0, 0]


def test_layers_that_run_in_parallel_have_different_prefixes_of_testbeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUPOOL_TESTBED_PREFIX", "gpupool-unit")
    show = shell(f'echo "$GPUPOOL_TESTBED_PREFIX" >> {tmp_path}/prefixes')
    run_of(
        tmp_path, Layer("vm", show, 1, ("docker",)), Layer("driver", show, 1, ("docker",)), prepare={"docker": "true"}
    ).until_done()
    assert {*(tmp_path / "prefixes").read_text().split()} == {"gpupool-unit-vm", "gpupool-unit-driver"}


def test_a_layer_that_starts_closes_no_folder_of_another_layers_users(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_it(tmp_path): print(f'{tmp_path.parents[2]} {tmp_path.parents[1].name}')"
    )
    tests = (sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", str(tmp_path / "test_it.py"))
    layers = [Layer(name, (tests,), 0.1) for name in ("unit", "operations")]
    run_of(tmp_path, *layers).until_done()
    for layer in layers:
        assert f"{tmp_path / layer.name} pytest-of-" in (tmp_path / f"{layer.name}.log").read_text()


def test_cores_are_reserved_for_a_long_layer_that_is_being_prepared(tmp_path: Path) -> None:
    cores = float(os.cpu_count() or 1)
    long = Layer("vm", shell(f"touch {tmp_path}/long"), cores, ("docker", "machines"))
    short = Layer("wheel", shell(f"ls {tmp_path}/long"), cores)
    run = run_of(tmp_path, short, long, prepare={"docker": "sleep 0.2", "machines": "sleep 0.2"})
    run.until_done()
    assert [work.code for work in run.works.values()] == [0, 0]
