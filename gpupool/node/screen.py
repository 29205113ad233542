"""A command that users run in a shell: its exit code, and names that are safe to print."""

import os
import sys
from collections.abc import Callable, Sequence


def run(main: Callable[[Sequence[str]], int]) -> None:
    """Run a command and exit with its code; with 0 if the reader closes the pipe, with 130 after Ctrl-C."""
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would flush the closed pipe again at its exit, and print an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def plain(text: object) -> str:
    """Return a text with `?` for each character that is not printable, such as tabs and control characters."""
    return "".join(sign if sign.isprintable() else "?" for sign in str(text))
