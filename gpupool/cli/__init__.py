"""The command line: one file per command, and `main`, which turns errors into messages."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from gpupool.errors import GpupoolError, StoppedError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_AGAIN = "running it again finishes the work"
#: Signals that end a command as Ctrl-C does.
_ENDS = {signal.SIGTERM: "terminated", signal.SIGHUP: "the terminal was closed"}


def main() -> None:
    """Run a command. A mistake of the user ends with a message, never with a traceback."""
    with _terminable() as terminated:
        try:
            _run()
        except GpupoolError as error:
            _say(str(error), "yellow" if isinstance(error, StoppedError) else "red")
            code = error.exit_code
        except KeyboardInterrupt:
            _say(f"{_ENDS[terminated[0]] if terminated else 'interrupted'}; {_AGAIN}", "yellow")
            code = 130
        except BrokenPipeError:
            _discard()
            code = 141
        except OSError as error:
            _say(_message(error), "red")
            code = 1
        except RuntimeError:
            if _has_home():
                raise
            _say(f"user {os.getuid()} has no home: add the user to /etc/passwd, where ssh needs it, or set HOME", "red")
            code = 1
        else:
            return
        # shells use 128 plus the signal's number
        sys.exit(128 + terminated[0] if terminated and code == 130 else code)


def _run() -> None:
    if sys.stdout is None:  # closed by the caller: the next file that is opened would get its descriptor
        raise GpupoolError("standard output is closed")
    try:
        # imports take a moment, in which the user may press Ctrl-C
        from gpupool.cli.app import app

        # shells request completions by this name, even if the command was started as a module
        app(prog_name="gpupool")
    except SystemExit as end:
        if end.code == 130:  # typer's exit code for Ctrl-C
            raise KeyboardInterrupt from None
        raise
    finally:
        _flush()


def _flush() -> None:
    """Write all output now, while an error such as a full disk can still be reported."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard()
        raise GpupoolError(f"cannot write the output: {_why(error)}") from None


def _discard() -> None:
    """Discard output that cannot be written, so that Python does not complain at its end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: OSError) -> str:
    why = _why(error)
    if error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {why}"
    if error.errno in _FULL or (error.errno == errno.EIO and _output_is_gone()):
        return f"cannot write the output: {why}"
    return f"a file cannot be read or written: {why} (dmesg names its disk)" if error.errno == errno.EIO else why


def _output_is_gone() -> bool:
    """Return whether standard output is a terminal that no longer exists: even writing nothing is an error there."""
    try:
        os.write(sys.stdout.fileno(), b"")
    except OSError as error:
        return error.errno == errno.EIO
    return False


def _why(error: OSError) -> str:
    return " ".join((error.strerror or str(error) or type(error).__name__).split())


def _say(message: str, style: str) -> None:
    with suppress(OSError):  # standard error may be closed
        from gpupool.terminal import Screen

        Screen(stderr=True).print(message, style=style)


def _has_home() -> bool:
    try:
        Path.home()
    except RuntimeError:
        return False
    return True


@contextmanager
def _terminable() -> Iterator[list[signal.Signals]]:
    """Make SIGTERM and SIGHUP end a command as Ctrl-C does; the yielded list gets the signal.

    A signal that is ignored stays ignored: with nohup, a command survives its terminal.
    """
    seen: list[signal.Signals] = []
    terminals = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]

    def end(number: int, frame: FrameType | None) -> None:
        seen.append(signal.Signals(number))
        if number == signal.SIGHUP:  # each write to the terminal would fail, and end the work that cleans up
            for descriptor in terminals:
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        as_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(as_ctrl_c):
            as_ctrl_c(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt

    main_thread = threading.current_thread() is threading.main_thread()
    ours = [number for number in _ENDS if main_thread and signal.getsignal(number) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        yield seen
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
