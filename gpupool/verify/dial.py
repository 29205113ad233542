"""`python3 -c TEXT SECONDS <LIST`: connect to each "ADDRESS PORT" of the list, and print "ADDRESS PORT RESULT" lines.

RESULT is OK, or the symbol of the error (ECONNREFUSED, EHOSTUNREACH, …; ETIMEDOUT after SECONDS). The connections are
made side by side and closed at once. The text runs on nodes with Python's standard library alone.
"""

import errno
import selectors
import socket
import sys
import time
from collections.abc import Iterator

AT_ONCE = 400  # sockets; a process may have 1024


def main(seconds: float, lines: list[str]) -> None:
    """Connect to all targets and print the results."""
    for first in range(0, len(lines), AT_ONCE):
        for line, result in dialled(lines[first : first + AT_ONCE], seconds):
            print(line, result)


def dialled(lines: list[str], seconds: float) -> Iterator[tuple[str, str]]:
    """Yield each target with its result."""
    waiting = selectors.DefaultSelector()
    for line in lines:
        address, port = line.split()
        connection = socket.socket()
        connection.setblocking(False)
        code = connection.connect_ex((address, int(port)))
        if code == errno.EINPROGRESS:
            waiting.register(connection, selectors.EVENT_WRITE, line)
        else:
            connection.close()
            yield line, name_of(code)
    until = time.monotonic() + seconds
    while waiting.get_map():
        ready = waiting.select(max(0.0, until - time.monotonic()))
        late = time.monotonic() >= until
        for key in list(waiting.get_map().values()) if late else [key for key, _ in ready]:
            connection = key.fileobj  # type: ignore[assignment]
            done = any(key is known for known, _ in ready)
            code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if done else errno.ETIMEDOUT
            waiting.unregister(connection)
            connection.close()
            yield key.data, name_of(code)


def name_of(code: int) -> str:
    """Return the symbol of an error, or OK."""
    return errno.errorcode.get(code, str(code)) if code else "OK"


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.stdin.read().splitlines())
