"""Shell scripts of this package: each is a file beside the module that sends it to a node.

What a script needs comes before it as assignments (``values``) or after it as $1, $2, …; nothing is put into its midst.
"""

import shlex
from functools import cache
from importlib import resources
from itertools import dropwhile


@cache
def shell_file(package: str, name: str) -> str:
    """Return the text of a ``.sh`` file in a package without its head, the comment that says what it takes and prints.

    Words for shellcheck are left out, too. Raises FileNotFoundError where there is no such file.
    """
    lines = resources.files(package).joinpath(name).read_text(encoding="utf-8").splitlines(keepends=True)
    body = dropwhile(lambda line: line.startswith("#"), lines)
    return "".join(line for line in body if not line.lstrip().startswith("# shellcheck ")).lstrip("\n")


def values(**named: str) -> str:
    """Return assignments, a line each, to stand before a script; the values are quoted."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in named.items())
