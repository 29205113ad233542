"""The queue, read by one service for all users of a node.

A service without privileges reads the queue when a user connects to its socket and its last reading is older than a
few seconds: on a controller from the arbiter's file; on other nodes, or if that file is too old, from squeue. It writes
the queue to a file that users can only read, answers `ok`, and closes the connection. It reads nothing from callers,
so that no caller can change its data, block it or make it run squeue more often.
"""

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from gpupool.node import files
from gpupool.slurm import snapshot

from . import jobs
from .jobs import Job, QueueError

# a reading is used for FRESH seconds, or for TIMES times as long as it took if that is longer
FRESH = 5
TIMES = 5
# seconds without a caller after which the service exits
IDLE = 60
# seconds that a caller waits: squeue may run first for an earlier caller and then for this one
WAIT = 2 * jobs.PATIENCE + 5

_FILE = "queue.json"


class Service:
    """The service; its file is in `folder`, and `arbiter` is the path of the arbiter's file."""

    def __init__(self, folder: Path, arbiter: Path = Path(snapshot.PATH)) -> None:
        self._file = folder / _FILE
        self._arbiter = arbiter
        self._until = 0.0
        self._answer = ""

    def answer(self) -> str:
        """Return `ok` once the file is fresh, else the reason of the failure. Each answer is kept for a time."""
        began = time.monotonic()
        if began < self._until:
            return self._answer
        at, queue = time.time(), list[Any]()
        try:
            known = self._of_the_arbiter()
            queue = jobs.pack(jobs.read(known.entries if known else jobs.ask()))
            at = known.at if known else at
            self._answer = "ok"
        except QueueError as why:
            self._answer = str(why)
        # a controller that is slow is asked less often
        lasts = max(FRESH, TIMES * (time.monotonic() - began))
        self._until = time.monotonic() + lasts
        if self._answer == "ok":
            files.replace(self._file, json.dumps({"at": at, "until": time.time() + lasts, "jobs": queue}))
        return self._answer

    def _of_the_arbiter(self) -> snapshot.Snapshot | None:
        """Return the queue from the file of this node's arbiter; None if there is none, or it is too old."""
        try:
            known = snapshot.read(self._arbiter.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return known if known.is_fresh(time.time()) else None

    def run(self, listening: socket.socket, idle: float = IDLE) -> None:
        """Answer callers one after the other; return when there has been no caller for some time."""
        listening.settimeout(idle)
        while True:
            try:
                caller, _ = listening.accept()
            except TimeoutError:
                return
            with caller:
                line = self.answer().encode()
                caller.setblocking(False)
                try:
                    # the buffer of a new socket has room for a short line, so this never blocks
                    caller.send(line[:1000])
                except OSError:
                    continue


def queue(folder: Path, path: Path) -> tuple[float, list[Job]]:
    """Return the time at which the queue was read, in seconds since 1970, and its jobs; QueueError if it fails."""
    known = _read(folder)
    if known and known[0] <= time.time() < known[1]:
        return known[0], known[2]
    answer = _call(path)
    if answer != "ok":
        raise QueueError(answer or "the service gpupool-queue ended without an answer")
    known = _read(folder)
    if known is None:
        raise QueueError(f"gpupool-queue answered, but wrote no {folder / _FILE}")
    return known[0], known[2]


def _read(folder: Path) -> tuple[float, float, list[Job]] | None:
    try:
        data = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return float(data["at"]), float(data["until"]), jobs.unpack(data["jobs"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise QueueError(f"{folder / _FILE}: {wrong}") from wrong


def _call(path: Path) -> str:
    """Ask the service for a fresh file and return its answer."""
    answer = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as calling:
            calling.settimeout(WAIT)
            calling.connect(os.fspath(path))
            while part := calling.recv(1000):
                answer += part
    except TimeoutError as slow:
        raise QueueError(f"no answer within {WAIT} s") from slow
    except OSError as gone:
        raise QueueError(f"{path}: {gone.strerror} (is gpupool-queue.socket active?)") from gone
    return answer.decode(errors="replace")


def main() -> None:
    """Run the service as systemd starts it: with the socket as file descriptor 3, and $RUNTIME_DIRECTORY."""
    if os.environ.get("LISTEN_FDS") != "1":
        raise SystemExit("gpupool-queue: start gpupool-queue.socket instead")
    with socket.socket(fileno=3) as listening:
        Service(Path(os.environ["RUNTIME_DIRECTORY"])).run(listening)


if __name__ == "__main__":
    main()
