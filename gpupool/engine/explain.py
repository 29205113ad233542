"""Errors of connections, commands and roles, as one line for people."""

import errno
import re
import socket
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from traceback import walk_tb

from paramiko import AuthenticationException, BadHostKeyException, SSHException
from paramiko.ssh_exception import NoValidConnectionsError
from pyinfra.api.exceptions import ConnectError, PyinfraError

from gpupool import terminal
from gpupool.errors import GpupoolError

LONGEST = 4000  # characters of one reason: an operation may list many items that it refuses
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ERRNO = {
    errno.ECONNREFUSED: "connection refused",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETUNREACH: "network unreachable",
    errno.ETIMEDOUT: "no answer",
    errno.ECONNRESET: "the connection was reset",
    errno.EPIPE: "the connection was lost",
}
_LIBRARY_FOLDERS = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def one_line(text: str) -> str:
    """Return the text in one line, without colours, with at most `LONGEST` characters."""
    line = terminal.plain(" ".join(_ANSI.sub("", text).split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def plain(text: str) -> str:
    """Return the text without terminal colours; other control characters are escaped."""
    return terminal.plain(_ANSI.sub("", text))


def last_line(lines: Iterable[str]) -> str | None:
    """Return the last line of a command's output: most commands put the reason of a failure there."""
    texts = [line for line in map(one_line, lines) if line]
    return texts[-1] if texts else None


def unreachable(error: BaseException, known_hosts: str | None = None) -> str:
    """Return why a node cannot be reached; pyinfra, paramiko or a socket raised `error`."""
    cause = error
    if isinstance(error, ConnectError):
        cause = error.__cause__ or error.__context__ or error
    return f"cannot be reached: {_connection_reason(cause, known_hosts or '~/.ssh/known_hosts')}"


def _connection_reason(error: BaseException, known_hosts: str) -> str:
    if isinstance(error, NoValidConnectionsError):
        return _connection_reason(next(iter(error.errors.values())), known_hosts)
    if isinstance(error, BadHostKeyException):
        return (
            f"its host key is not the one in {known_hosts}; if the node was reinstalled, "
            f"remove the old key with: ssh-keygen -f {known_hosts} -R '{error.hostname}'"
        )
    if isinstance(error, AuthenticationException):
        return "SSH login refused (is your key in its authorized_keys?)"
    if isinstance(error, socket.gaierror):
        return "cannot resolve its host name"
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, SSHException):
        return _ssh_reason(str(error), known_hosts)
    if isinstance(error, OSError) and error.errno in _ERRNO:
        return _ERRNO[error.errno]
    return one_line(str(error)) or type(error).__name__


def _ssh_reason(text: str, known_hosts: str) -> str:
    unknown = re.search(r"No host key for (\S+) found", text)
    if unknown:
        return f"its host key is not in {known_hosts}; add it before the first run (ssh-keyscan, then compare)"
    if "protocol banner" in text:
        return "no SSH server answered"
    return one_line(text)


def reason(error: BaseException) -> str:
    """Return why a role, fact or operation failed; an unexpected exception with its type and place."""
    if isinstance(error, (GpupoolError, PyinfraError)) and str(error):
        return one_line(str(error))
    if isinstance(error, TimeoutError):
        return one_line(str(error)) or "no answer in time"
    if isinstance(error, SSHException | OSError) and getattr(error, "filename", None) is None:
        return _connection_reason(error, "~/.ssh/known_hosts")
    place = _place(error)
    return one_line(f"{type(error).__name__}: {error}" + (f" ({place})" if place else ""))


def _place(error: BaseException) -> str | None:
    """Return `file:line` of the innermost frame that is neither Python's nor a library's."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}:{error.lineno}"
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    own = [(name, line) for name, line in frames if not name.startswith((*_LIBRARY_FOLDERS, "<"))]
    return f"{_short(own[-1][0])}:{own[-1][1]}" if own else None


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename
