"""A command that people run in a shell: how it ends, and names that are safe to print."""

import os
import sys
from collections.abc import Callable, Sequence


def run(main: Callable[[Sequence[str]], int]) -> None:
    """Run a command with its arguments and exit with its code; 0 where the reader closes the pipe, 130 for Ctrl-C."""
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would flush the closed pipe again at its end, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def plain(text: object) -> str:
    """Return a text without the signs that a terminal or a line of fields would take for anything else."""
    return "".join(sign if sign.isprintable() else "?" for sign in str(text))
