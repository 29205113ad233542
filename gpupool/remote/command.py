"""The command line that runs a script on a node as root, with any login shell, locale and start-up files.

sshd hands the line to the login shell of the user. bash, dash, ksh, zsh, tcsh and fish agree on single quotes only as
long as there is no newline, no `!` and no backslash in them. So the script is sent in base64, and /bin/sh decodes it.
"""

import base64
import shlex
from collections.abc import Sequence

from gpupool.shell import shell_file

#: Exit status if the user is not root and the node has no sudo.
NO_SUDO = 120
#: Exit status if sudo does not let the user run /bin/sh as root, or asks for a password.
SUDO_REFUSES = 121

#: Bytes of a command line. Linux accepts 128 KiB for one argument, its final zero byte included.
LONGEST = 128 * 1024 - 1

#: Bytes of standard output, and of errors, that a command on a node may send: a node that is taken over could fill the
#: memory of the admin's machine. 20,000 associations of Slurm are some 2 MiB.
MOST_BYTES = 32 * 1024 * 1024

#: The line that is printed before the output of a script.
BEGIN = "gpupool-begin"
# LANGUAGE has precedence over LC_ALL for messages in any locale but C
_BEFORE = f"echo; echo {BEGIN}; export LC_ALL=C.UTF-8; unset LANGUAGE\n"
_DECODE = 'as_root=$(printf %s "$1" | base64 -d) && eval "$as_root"'


class TooMuchError(Exception):
    """A command on a node sent more than `MOST_BYTES` to one of its outputs."""

    def __init__(self) -> None:
        super().__init__(f"its answer is longer than {MOST_BYTES // 1024 // 1024} MiB: look what runs there")


def remote_command(script: str | Sequence[str], environment: str = "") -> str:
    """Return the line that runs a script of sh, or a program with its arguments, as root under /bin/sh.

    `environment` are lines of sh before the script. The locale is C.UTF-8. Standard input and the exit status are those
    of the script; NO_SUDO and SUDO_REFUSES mean that it was not started. `output_of` finds its standard output.
    ValueError if the line is longer than LONGEST.
    """
    text = script if isinstance(script, str) else f"exec {shlex.join(script)}"
    as_root = shell_file(__package__, "as_root.sh")
    line = f"exec /bin/sh -c '{_DECODE}' sh {_encoded(as_root)} {_encoded(_BEFORE + environment + text)}"
    if len(line) > LONGEST:
        raise ValueError(f"a command of {len(line)} bytes is longer than the {LONGEST} that Linux accepts")
    return line


def output_of(stdout: bytes) -> bytes | None:
    """Return the output of a script of `remote_command`, without the output of the login shell's start-up files.

    None if the script was not started.
    """
    _, begin, output = stdout.partition(f"\n{BEGIN}\n".encode())
    return output if begin else None


def refusal(status: int, user: str) -> str | None:
    """Return the reason why `user` could not become root, from the exit status of a command; None for any other."""
    return {
        NO_SUDO: f"{user} is not root, and the node has no sudo (install sudo, or set `access.admin.user: root`)",
        SUDO_REFUSES: f"sudo does not let {user} become root without a password "
        f"(add `{user} ALL=(ALL) NOPASSWD: ALL` to /etc/sudoers.d, or set `access.admin.user: root`)",
    }.get(status)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode(errors="surrogateescape")).decode()
