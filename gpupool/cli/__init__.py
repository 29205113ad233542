"""The command line: one file per command, and `main`, which turns errors into messages."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from gpupool.errors import GpupoolError, StoppedError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_AGAIN = "running it again finishes the work"


def main() -> None:
    """Run a command; a user's mistake ends with a message, never with a traceback."""
    with _terminable() as terminated:
        try:
            _run()
        except GpupoolError as error:
            _say(str(error), "yellow" if isinstance(error, StoppedError) else "red")
            code = error.exit_code
        except KeyboardInterrupt:
            _say(f"{'terminated' if terminated else 'interrupted'}; {_AGAIN}", "yellow")
            code = 130
        except BrokenPipeError:
            _discard()
            code = 141
        except OSError as error:
            _say(_message(error), "red")
            code = 1
        else:
            return
        # 128 and the signal's number, as shells have it
        sys.exit(143 if terminated and code == 130 else code)


def _run() -> None:
    if sys.stdout is None:  # closed by who started this: the next file that is opened would take its place
        raise GpupoolError("standard output is closed")
    try:
        # what it imports takes a moment, in which somebody may press Ctrl-C
        from gpupool.cli.app import app

        # the name by which a shell asks for completions, also where it was started as a module
        app(prog_name="gpupool")
    except SystemExit as end:
        if end.code == 130:  # typer's own for Ctrl-C
            raise KeyboardInterrupt from None
        raise
    finally:
        _flush()


def _flush() -> None:
    """Have all output written now, where a full disk can still be named."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard()
        raise GpupoolError(_message(error)) from None


def _discard() -> None:
    """Discard output that cannot be written, so that Python does not complain at its end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: OSError) -> str:
    if error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    why = " ".join((error.strerror or str(error) or type(error).__name__).split())
    return f"cannot write the output: {why}" if error.errno in _FULL else why


def _say(message: str, style: str) -> None:
    with suppress(OSError):  # nobody may be there to read it
        from gpupool.terminal import Screen

        Screen(stderr=True).print(message, style=style)


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """Make SIGTERM end a command as Ctrl-C does; the list is not empty when it did."""
    seen: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        as_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(as_ctrl_c):
            as_ctrl_c(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield seen
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
