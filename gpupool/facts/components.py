"""Which components of Debian a node's apt reads, and from where: contrib and non-free are often left out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file

_LOOK = shell_file(__package__, "components.sh")
_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)")


@dataclass(frozen=True)
class Archive:
    """A suite of Debian on a mirror, with the components that apt reads; `key` is what follows `Signed-By:`, if any."""

    uri: str
    suite: str
    codename: str
    components: tuple[str, ...]
    key: str


class Components(Look[list[Archive]]):
    """Debian's own archives, as far as apt has read their lists; sources in the file `without` do not count."""

    def command(self, without: str) -> StringCommand:
        """Ask apt itself, and its files for the keys, which apt does not tell."""
        return ask(_LOOK, without)

    def read(self, lines: list[str]) -> list[Archive]:
        """Read the answer."""
        files: dict[str, list[str]] = {}
        targets: dict[tuple[str, str, str], set[str]] = {}
        for line in lines:
            kind, *rest = line.split("\t", 2 if line.startswith("L") else 6)
            if kind == "L":
                files.setdefault(rest[0], []).append(rest[1])
            elif rest[0] == "Debian":
                _, codename, uri, suite, component, _ = rest
                targets.setdefault((uri, suite, codename), set()).add(component)
        keys = {place: key for name, text in files.items() for place, key in _keys(name, text)}
        return [
            Archive(uri, suite, codename, tuple(sorted(components)), keys.get((uri.rstrip("/"), suite), ""))
            for (uri, suite, codename), components in targets.items()
        ]


def _keys(name: str, lines: Sequence[str]) -> Iterator[tuple[tuple[str, str], str]]:
    """Return by mirror and suite what sources say after `Signed-By:`, with the lines that follow it."""
    if not name.endswith(".sources"):
        for match in filter(None, map(_ONE_LINE.match, lines)):
            options = dict(option.partition("=")[::2] for option in (match["options"] or "").split())
            yield (match["uri"].rstrip("/"), match["suite"]), options.get("signed-by", "").replace(",", " ")
        return
    text = "\n".join(line for line in lines if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", text):
        fields = {
            key.lower(): value for key, value in re.findall(r"^([A-Za-z-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.M)
        }
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                yield (uri.rstrip("/"), suite), fields.get("signed-by", "").strip()
