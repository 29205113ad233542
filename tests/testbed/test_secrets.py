"""Keys are not in the repository, on a command line, in a diff or in a log."""

import base64
import subprocess
import threading
import time
from pathlib import Path

from tests.testbed.cluster import ROOT, Testbed, docker, gpupool

KEY = "/etc/munge/munge.key"


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


def test_a_key_that_is_copied_is_shown_nowhere(skynet: Testbed, tmp_path: Path) -> None:
    secret = munge_key(skynet)
    skynet.out("clippy", f"rm {KEY}")
    seen: list[str] = []
    stop = threading.Event()

    def watch() -> None:
        show = "for it in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $it; echo; done 2>/dev/null"
        while not stop.is_set():
            seen.append(docker("exec", skynet.container("clippy"), "sh", "-c", show))
            seen.append(docker("exec", skynet.container("marvin"), "sh", "-c", show))
            seen.append(subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout)
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        plan = gpupool("plan", skynet.inventory, "--on", "testbed")
        log = tmp_path / "log"
        done = gpupool("apply", skynet.inventory, "--on", "testbed", "--yes", "--json", "--log", log)
    finally:
        stop.set()
        watcher.join()
    assert f"Munge key | {KEY}" in plan.stdout
    assert done.returncode == 0, done.stderr
    assert munge_key(skynet) == secret
    assert skynet.out("clippy", f"base64 -w0 {KEY}") == base64.b64encode(secret).decode()
    journal = skynet.out("clippy", "journalctl -o cat --no-pager -n 2000")
    texts = [plan.stdout, plan.stderr, done.stdout, done.stderr, log.read_text(), journal, *seen]
    for form in forms(secret):
        assert not [text for text in texts if form in text]


def test_no_secret_is_in_the_repository() -> None:
    files = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    marks = ("PRIVATE " + "KEY-----", "StoragePass" + "=", "identified " + "by '")
    for name in filter(None, files.split("\0")):
        path = ROOT / name
        if path.is_file():
            text = path.read_text(errors="replace")
            assert not [mark for mark in marks if mark in text], name


def test_accounting_needs_no_password(skynet: Testbed) -> None:
    conf = skynet.out("marvin", "cat /etc/slurm/slurmdbd.conf; stat -c '%U %a' /etc/slurm/slurmdbd.conf")
    assert "StoragePass" not in conf
    assert conf.endswith("slurm 600")
    plugin = "select plugin from mysql.user where user='slurm'"
    assert skynet.out("marvin", f'mariadb -N -B -e "{plugin}"') == "unix_socket"
    assert skynet.run("marvin", "mariadb -u slurm -e 'select 1'", "u-kira1").returncode
