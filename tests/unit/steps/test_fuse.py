"""Processes that wait for a real FUSE server that does not answer; a container without /dev/fuse skips this."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pace import until

from gpupool.programs.steps import fuse
from gpupool.programs.steps.__main__ import Watch

USER, OTHER = 20001, 20002
pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/fuse").exists(), reason="needs root, and /dev/fuse")

#: Mounts a FUSE file system of a user, answers FUSE_INIT, reads all other requests, and answers none.
SERVE = """
import ctypes, os, struct, sys
folder, uid = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fd},rootmode=40000,user_id={uid},group_id={uid}".encode()
if libc.mount(b"silent", folder.encode(), b"fuse", 0, options):
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
print("mounted", flush=True)
try:
    while True:
        request = os.read(fd, 1 << 17)
        _, code, number = struct.unpack_from("=IIQ", request)
        if code == 26:
            answer = struct.pack("=IIIIHHI", 7, 31, 65536, 0, 12, 10, 65536) + bytes(40)
            os.write(fd, struct.pack("=IiQ", 16 + len(answer), 0, number) + answer)
        else:
            print("asked", flush=True)
except OSError:
    pass
"""


class Mount:
    """A FUSE mount whose server does not answer, and a process of its user that waits for it."""

    def __init__(self, folder: Path, uid: int) -> None:
        self.folder = folder
        words = ["/usr/bin/python3", "-c", SERVE, str(folder), str(uid)]
        self.server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.server.stdout
        if self.server.stdout.readline() != "mounted\n":
            pytest.skip("FUSE cannot be mounted here")
        self.number = str(os.minor(_device(folder)))
        self.client = subprocess.Popen(["/bin/ls", str(folder)], user=uid, group=uid, stderr=subprocess.DEVNULL)
        assert self.server.stdout.readline() == "asked\n"

    @property
    def is_stuck(self) -> bool:
        return self.client.pid in [process.pid for process in fuse.stuck()]

    def close(self) -> None:
        with suppress(OSError):
            (fuse.CONNECTIONS / self.number / "abort").write_text("1")
        self.client.kill()
        self.server.kill()
        self.client.wait()
        self.server.wait()
        subprocess.run(["umount", "-l", str(self.folder)], check=False)


def _device(folder: Path) -> int:
    """Return the device of a mount without asking its server."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split()
        if words[4] == str(folder):
            major, minor = words[2].split(":")
            return os.makedev(int(major), int(minor))
    raise AssertionError(folder)


@pytest.fixture(autouse=True)
def _connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Mount the connections of this machine in a folder of the test."""
    with TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "fusectl", "none", folder], check=False).returncode:
            pytest.skip("fusectl cannot be mounted here")
        monkeypatch.setattr(fuse, "CONNECTIONS", Path(folder))
        yield
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def mount(_connections: None) -> Iterator[Callable[[int], Mount]]:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made: list[Mount] = []

        def start(uid: int) -> Mount:
            place = Path(folder, str(len(made)))
            place.mkdir()
            made.append(Mount(place, uid))
            return made[-1]

        yield start
        for each in made:
            each.close()


def test_a_killed_process_ends_when_its_connection_is_aborted(mount: Callable[[int], Mount]) -> None:
    mine, other = mount(USER), mount(OTHER)
    assert not mine.is_stuck, "it has not got SIGKILL"
    mine.client.kill()
    other.client.kill()
    until(lambda: mine.is_stuck and other.is_stuck, "SIGKILL ends neither")
    process = next(process for process in fuse.stuck() if process.pid == mine.client.pid)
    assert fuse.abort(process, everywhere=False) == [mine.number]
    assert mine.client.wait() == -9
    assert other.is_stuck, "connections of another user are left alone"


def test_a_mount_that_the_process_no_longer_sees_is_aborted_too(mount: Callable[[int], Mount]) -> None:
    mine = mount(USER)
    subprocess.run(["umount", "-l", str(mine.folder)], check=True)
    mine.client.kill()
    until(lambda: mine.is_stuck, "SIGKILL does not end it")
    process = next(process for process in fuse.stuck() if process.pid == mine.client.pid)
    assert fuse.abort(process, everywhere=False) == []
    assert fuse.abort(process, everywhere=True) == [mine.number]
    assert mine.client.wait() == -9


def test_the_service_aborts_after_ten_seconds(mount: Callable[[int], Mount]) -> None:
    mine = mount(USER)
    mine.client.kill()
    until(lambda: mine.is_stuck, "SIGKILL does not end it")
    stuck = [process for process in fuse.stuck() if process.pid == mine.client.pid]
    watch = Watch()
    watch.free(stuck, 100)
    watch.free(stuck, 109)
    assert mine.is_stuck
    watch.free(stuck, 110)
    assert mine.client.wait() == -9
