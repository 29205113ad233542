"""The NFS exports of a fileserver: those in force, and those in its files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "exports.sh")


@dataclass(frozen=True)
class ExportsState(Shown):
    """`active`: path -> client -> options in force; `named`: file -> path -> clients in the file."""

    active: dict[str, dict[str, frozenset[str]]]
    named: dict[str, dict[str, frozenset[str]]]


class Exports(Fact[ExportsState]):
    """The export table and the files from which it was made, in one command."""

    def command(self) -> StringCommand:
        """Ask for the table and the files."""
        return ask(_LOOK)

    def read(self, lines: list[str]) -> ExportsState:
        """Read the answer."""
        state = ExportsState({}, {})
        for line in lines:
            kind, rest = line.split("\t", 1)
            if kind == "A":
                for path, client, options in entries(rest):
                    state.active.setdefault(path, {})[client] = options
            else:
                file, text = rest.split("\t", 1)
                for path, client, _ in entries(text):
                    paths = state.named.setdefault(file, {})
                    paths[path] = paths.get(path, frozenset()) | {client}
        return state


_CLIENT = re.compile(r"([^\s(]*)(?:\(([^)]*)\))?")


def entries(line: str) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield path, client and options for each client of one line of exports(5)."""
    text = line.strip()
    if not text or text.startswith("#"):
        return
    quoted = re.match(r'"([^"]*)"\s*', text)
    first = quoted[1] if quoted else text.split(None, 1)[0]
    rest = text[quoted.end() :] if quoted else text[len(first) :]
    for word in rest.split("#", 1)[0].split() or ["*"]:
        match = _CLIENT.fullmatch(word)
        if match and not word.startswith("-"):
            yield _plain(first), match[1] or "*", frozenset(filter(None, (match[2] or "").split(",")))


def _plain(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
