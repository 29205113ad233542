"""Shell scripts of this package: each is a file beside the module that sends it to a node.

The values of a script come before it as assignments (``values``) or as its arguments; its text is never changed.
"""

import shlex
from functools import cache
from importlib import resources
from itertools import dropwhile


@cache
def shell_file(package: str, name: str) -> str:
    """Return the text of a ``.sh`` file in a package without its first comment, which documents it.

    Directives for shellcheck are left out, too. FileNotFoundError if there is no such file.
    """
    lines = resources.files(package).joinpath(name).read_text(encoding="utf-8").splitlines(keepends=True)
    body = dropwhile(lambda line: line.startswith("#"), lines)
    return "".join(line for line in body if not line.lstrip().startswith("# shellcheck ")).lstrip("\n")


def values(**named: str) -> str:
    """Return quoted assignments, one per line, to put before a script."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in named.items())
