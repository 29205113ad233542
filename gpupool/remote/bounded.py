"""Run a local command whose output is bounded in bytes: the output is that of a node, which may be taken over."""

import os
import selectors
import subprocess
import time
from collections.abc import Sequence

from gpupool.remote.command import TooMuchError

_BLOCK = 65536
#: seconds between two looks at whether the command has ended
_LOOK = 0.2


def run(command: Sequence[str], data: bytes, seconds: float, most: int) -> "subprocess.CompletedProcess[bytes]":
    """Return the result of `command` with `data` as its standard input, at most `most` bytes of each output.

    The command is killed with TooMuchError if it sends more, and with subprocess.TimeoutExpired after `seconds`;
    FileNotFoundError without the program.
    """
    pipe = subprocess.PIPE
    # without buffers: the program ends as soon as it is killed, also while a child of it holds the pipes
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        try:
            out, err = _exchanged(process, data, time.monotonic() + seconds, most)
            status = process.wait(seconds)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, status, out, err)


def _exchanged(process: "subprocess.Popen[bytes]", data: bytes, until: float, most: int) -> tuple[bytes, bytes]:
    """Write all data and read both outputs until the command ends; TimeoutExpired at the monotonic time `until`.

    The outputs may stay open after that: ssh of a jump that is started with SIGHUP ignored outlives the ssh it serves.
    """
    streams = (process.stdin, process.stdout, process.stderr)
    stdin, stdout, stderr = (stream.fileno() for stream in streams if stream)
    os.set_blocking(stdin, False)
    received = {stdout: bytearray(), stderr: bytearray()}
    rest = memoryview(data)
    with selectors.DefaultSelector() as selector:
        selector.register(stdin, selectors.EVENT_WRITE)
        for output in received:
            selector.register(output, selectors.EVENT_READ)
        while selector.get_map():
            if (left := until - time.monotonic()) <= 0:
                raise subprocess.TimeoutExpired(process.args, 0)
            process_ended = process.poll() is not None
            events = selector.select(0 if process_ended else min(left, _LOOK))
            if process_ended and not events:
                break
            for key, _ in events:
                if key.fd in received:
                    block = os.read(key.fd, _BLOCK)
                    received[key.fd] += block
                    if len(received[key.fd]) > most:
                        raise TooMuchError
                    ended = not block
                else:
                    rest, ended = _written(key.fd, rest)
                if ended:
                    selector.unregister(key.fd)
                    if key.fd == stdin and process.stdin:
                        process.stdin.close()
    return bytes(received[stdout]), bytes(received[stderr])


def _written(stdin: int, rest: memoryview) -> tuple[memoryview, bool]:
    """Write a part of `rest`; return what remains, and whether nothing more is to be written."""
    try:
        rest = rest[os.write(stdin, rest[:_BLOCK]) :] if rest else rest
    except BrokenPipeError:  # a command may end before it has read all data
        return rest, True
    return rest, not rest
