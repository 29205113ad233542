"""How a fact asks a node: one shell script, its values as quoted arguments, a time limit on the node itself."""

import re

from pyinfra.api.command import QuoteString, StringCommand

#: Last line of every answer. Without it the answer was cut short and nothing may be concluded from it.
END = "gpupool-end"
_LIMITED = re.compile(r"\btimeout -s KILL (\d+) sh -c ")


def ask(text: str, *values: str, limit: int = 60) -> StringCommand:
    """Run `text` under sh with `values` as $1, $2, …; it is killed on the node after `limit` seconds."""
    # a hung NFS server hangs stat for ever; a dead look is better than a run that never ends
    return StringCommand(
        "timeout", "-s", "KILL", str(limit), "sh", "-c", QuoteString(f"{text.strip()}\necho {END}"), "sh",
        *(QuoteString(value) for value in values),
    )  # fmt: skip


def limit_of(command: str) -> int | None:
    """Return the seconds that `ask` gave a command on the node; None for a command of somebody else's."""
    found = _LIMITED.search(command)
    return int(found[1]) if found else None


def whole(output: list[str]) -> list[str] | None:
    """Return the lines of the answer without its end mark, or None when it was cut short."""
    if not output or output[-1].strip() != END:
        return None
    return output[:-1]
