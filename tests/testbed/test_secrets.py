"""Keys are not in the repository, on a command line, in a diff or in a log; the munge key is replaced under jobs."""

import base64
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from pace import until

from tests.testbed.cluster import ROOT, Testbed, docker, gpupool

KEY = "/etc/munge/munge.key"
ONE_CPU = "-p long -c 1 --mem=1G"
USERS = ("u-kira1", "u-hoffman1", "u-cvmlp1", "u-nlprx1", "u-hays1")


def munge_key(testbed: Testbed) -> bytes:
    return base64.b64decode(testbed.out("marvin", f"base64 -w0 {KEY}"))


def forms(secret: bytes) -> list[str]:
    """Return the encodings of the key that a text could contain: base64 at each offset, hexadecimal."""
    encoded = base64.b64encode(secret).decode()
    return [encoded[100:160], secret[40:80].hex()]


def test_the_key_is_the_same_on_all_nodes_and_belongs_to_munge(skynet: Testbed) -> None:
    wanted = skynet.out("marvin", f"sha256sum < {KEY}")
    for node in skynet.target.nodes:
        if node.runs_slurm:
            assert skynet.out(node.name, f"sha256sum < {KEY}") == wanted
            assert skynet.out(node.name, f"stat -c '%U:%G %a' {KEY}") == "munge:munge 400"
        else:
            assert skynet.run(node.name, f"test -e {KEY}").returncode == 1


@contextmanager
def command_lines(testbed: Testbed, *nodes: str) -> Iterator[list[str]]:
    """Yield a list, to which the command lines of these nodes and of this machine are added many times a second."""
    seen: list[str] = []
    stop = threading.Event()

    def watch() -> None:
        show = "for it in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $it; echo; done 2>/dev/null"
        while not stop.is_set():
            seen.extend(docker("exec", testbed.container(node), "sh", "-c", show) for node in nodes)
            seen.append(subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout)
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        stop.set()
        watcher.join()


def test_a_key_that_is_copied_is_shown_nowhere(skynet: Testbed, tmp_path: Path) -> None:
    secret = munge_key(skynet)
    skynet.out("clippy", f"rm {KEY}")
    with command_lines(skynet, "clippy", "marvin") as seen:
        plan = gpupool("plan", skynet.inventory, "--on", "testbed")
        log = tmp_path / "log"
        done = gpupool("apply", skynet.inventory, "--on", "testbed", "--yes", "--json", "--log", log)
    assert f"Munge key | {KEY}" in plan.stdout
    assert done.returncode == 0, done.stderr
    assert munge_key(skynet) == secret
    assert skynet.out("clippy", f"base64 -w0 {KEY}") == base64.b64encode(secret).decode()
    journal = skynet.out("clippy", "journalctl -o cat --no-pager -n 2000")
    texts = [plan.stdout, plan.stderr, done.stdout, done.stderr, log.read_text(), journal, *seen]
    for form in forms(secret):
        assert not [text for text in texts if form in text]


def rekey(testbed: Testbed, *arguments: str) -> subprocess.CompletedProcess[str]:
    return gpupool("rekey", testbed.inventory, "--on", "testbed", "--yes", *arguments)


def keys(testbed: Testbed) -> set[str]:
    """Return the checksums of the keys of all nodes of Slurm, and the names of other files beside them."""
    show = f"sha256sum < {KEY}; ls -A {Path(KEY).parent}"
    return {testbed.out(node.name, show) for node in testbed.target.nodes if node.runs_slurm}


def test_the_key_is_replaced_under_20_jobs_and_shown_nowhere(idle: Testbed) -> None:
    before = munge_key(idle)
    lasting = [idle.submit(user, f"{ONE_CPU} --array=1-3") for user in USERS]
    until(lambda: idle.out("marvin", "squeue -h -r -t R | wc -l") == "15", "15 jobs run")
    # they end before slurmctld stops, meanwhile, and after it has started
    ending = [idle.submit(user, ONE_CPU, f"srun sleep {4 + number}") for number, user in enumerate(USERS)]
    started = [idle.out("marvin", f"scontrol -o show job {number} | grep -o ' StartTime=[^ ]*'") for number in lasting]
    # more than one retry of squeue would be one line
    ask = "squeue -h >/dev/null 2>&1"
    loop = f"touch /tmp/ask; while [ -e /tmp/ask ]; do {ask} || {ask} || echo failed twice; sleep 0.2; done"
    with ThreadPoolExecutor() as pool, command_lines(idle, "clippy", "marvin") as seen:
        user = pool.submit(idle.out, "sky1", loop, "u-kira1")
        try:
            done = rekey(idle)
        finally:
            idle.out("sky1", "rm /tmp/ask")
    assert done.returncode == 0, done.stderr
    assert user.result() == ""
    secret = munge_key(idle)
    assert secret != before
    assert len(keys(idle)) == 1
    for number in ending:
        assert idle.wait_for(number, "COMPLETED")["Restarts"] == "0"
    # the same jobs, with the same start: none was requeued
    now = [idle.out("marvin", f"scontrol -o show job {number} | grep -o ' StartTime=[^ ]*'") for number in lasting]
    assert now == started
    assert idle.out("marvin", "squeue -h -r -t R | wc -l") == "15"
    assert idle.out("sky1", "srun -p debug hostname", "u-kira1")
    journals = [idle.out(node, "journalctl -o cat --no-pager -n 2000") for node in ("clippy", "marvin")]
    for form in (*forms(secret), *forms(before)):
        assert not [text for text in [done.stdout, done.stderr, *journals, *seen] if form in text]
    assert idle.plan() == (0, {})


def test_a_replacement_that_is_killed_while_slurmctld_is_stopped_is_finished_by_the_next(idle: Testbed) -> None:
    job = idle.submit(USERS[0], ONE_CPU)
    idle.wait_for(job, "RUNNING")
    command = [sys.executable, "-m", "gpupool", "rekey", str(idle.inventory), "--on", "testbed", "--yes"]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    idle.out("marvin", "while systemctl is-active --quiet slurmctld; do sleep 0.05; done")
    run.kill()
    run.wait()
    assert idle.run("marvin", "systemctl is-active --quiet slurmctld").returncode, "it was not killed meanwhile"
    assert rekey(idle).returncode == 0
    assert len(keys(idle)) == 1
    assert idle.wait_for(job, "RUNNING")["Restarts"] == "0"


def test_a_node_without_an_answer_is_named_and_left_out_on_request(idle: Testbed) -> None:
    key, node = munge_key(idle), "titanx-01"
    idle.switch_off(node)
    try:
        refused = rekey(idle)
        assert refused.returncode == 1
        assert f"{node}: cannot be reached" in refused.stderr
        assert munge_key(idle) == key
        done = rekey(idle, "--without", node)
        assert done.returncode == 0, done.stderr
        assert munge_key(idle) != key
        assert "has the old munge key" in idle.out("marvin", f"sinfo -h -n {node} -o %E")
    finally:
        idle.switch_on(node)
    until(lambda: idle.run(node, "true").returncode == 0, f"{node} answers")
    assert idle.apply("--limit", node).returncode == 0
    idle.out("marvin", f"scontrol update nodename={node} state=resume")
    assert len(keys(idle)) == 1


def test_accounting_needs_no_password(skynet: Testbed) -> None:
    conf = skynet.out("marvin", "cat /etc/slurm/slurmdbd.conf; stat -c '%U %a' /etc/slurm/slurmdbd.conf")
    assert "StoragePass" not in conf
    assert conf.endswith("slurm 600")
    plugin = "select plugin from mysql.user where user='slurm'"
    assert skynet.out("marvin", f'mariadb -N -B -e "{plugin}"') == "unix_socket"
    assert skynet.run("marvin", "mariadb -u slurm -e 'select 1'", "u-kira1").returncode
