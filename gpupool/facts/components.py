"""The components that a node's apt reads of each archive: contrib and non-free are often missing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "components.sh")
_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)(?P<components>[^#]*)")
_FIELD = re.compile(r"^([A-Za-z-]+):(.*(?:\n[ \t].*)*)", re.MULTILINE)


@dataclass(frozen=True)
class Archive(Shown):
    """A suite on a mirror, with the components that apt reads; `key` is the value of `Signed-By:`, if any.

    `origin` and `codename` are the fields of these names in its Release file.
    """

    origin: str
    uri: str
    suite: str
    codename: str
    components: tuple[str, ...]
    key: str


class Components(Fact[list[Archive]]):
    """The archives whose lists apt has read; sources in the file `without` are ignored."""

    def command(self, without: str) -> StringCommand:
        """Ask apt, and read its files: apt does not print the keys."""
        return ask(_LOOK, without)

    def read(self, lines: list[str]) -> list[Archive]:
        """Read the answer. apt prints the origin of an archive, but omits components with empty lists."""
        files: dict[str, list[str]] = {}
        named: dict[tuple[str, str], tuple[str, str]] = {}
        for line in lines:
            kind, *rest = line.split("\t", 2 if line.startswith("L") else 4)
            if kind == "L":
                files.setdefault(rest[0], []).append(rest[1])
            else:
                named[rest[2].rstrip("/"), rest[3]] = rest[0], rest[1]
        entries = [entry for name, text in files.items() for entry in _entries(name, text)]
        return [
            Archive(
                origin,
                *place,
                codename,
                tuple(sorted({name for at, components, _ in entries if at == place for name in components})),
                next((key for at, _, key in entries if at == place), ""),
            )
            for place, (origin, codename) in named.items()
        ]


def _entries(name: str, lines: Sequence[str]) -> Iterator[tuple[tuple[str, str], list[str], str]]:
    """Yield mirror and suite of each entry of a file, its components, and its value of `Signed-By:`."""
    if not name.endswith(".sources"):
        for match in filter(None, map(_ONE_LINE.match, lines)):
            options = dict(option.partition("=")[::2] for option in (match["options"] or "").split())
            key = options.get("signed-by", "").replace(",", " ")
            yield (match["uri"].rstrip("/"), match["suite"]), match["components"].split(), key
        return
    text = "\n".join(line for line in lines if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", text):
        fields = {key.lower(): value.strip() for key, value in _FIELD.findall(stanza)}
        if "deb" in fields.get("types", "").split() and fields.get("enabled", "yes").lower() != "no":
            for uri in fields.get("uris", "").split():
                for suite in fields.get("suites", "").split():
                    place = uri.rstrip("/"), suite
                    yield place, fields.get("components", "").split(), fields.get("signed-by", "")
