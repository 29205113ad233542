"""slurm.conf as plain data: settings, and lines of nodes, partitions and others with the DEFAULT lines before them.

Slurm's rules: keys in any case; the last of repeated settings counts; a line named DEFAULT gives its keys to the lines
of its kind after it, until another DEFAULT replaces a key. slurm.conf(5), src/common/read_config.c.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpupool.adopt.folder import Folder
from gpupool.adopt.includes import Reader
from gpupool.adopt.lines import Fact, Line, lines
from gpupool.cluster.complaints import Place
from gpupool.cluster.quote import quoted

#: The first keys of lines of nodes and the like, in lower case, with Slurm's spelling.
KINDS = {
    key.lower(): key for key in ("NodeName", "PartitionName", "NodeSet", "DownNodes", "FrontendName", "SwitchName")
}
# settings of which each line counts
_LISTS = frozenset(("slurmctldhost", "prolog", "epilog"))


@dataclass(frozen=True)
class Entry:
    """A line of a node, a partition or another kind: its first pair, and the others with those of DEFAULT."""

    head: Fact
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name as written, such as a host list."""
        return self.head.value

    @property
    def place(self) -> Place:
        """The place of the line."""
        return self.head.place

    def value(self, *keys: str) -> str | None:
        """Return the value of the first of these keys, in lower case, that the line has."""
        return next((self.facts[key].value for key in keys if key in self.facts), None)


@dataclass(frozen=True)
class SlurmConf:
    """Settings by key in lower case, each with all its facts; and the entries of each kind, in their order."""

    settings: Mapping[str, tuple[Fact, ...]]
    entries: Mapping[str, tuple[Entry, ...]]
    files: tuple[str, ...]

    def value(self, key: str) -> str | None:
        """Return the value of a setting; of repeated ones the last."""
        facts = self.settings.get(key.lower())
        return facts[-1].value if facts else None

    @property
    def has_slurmdbd(self) -> bool:
        """Whether slurmdbd has the cluster's accounting."""
        return (self.value("accountingstoragetype") or "").lower().endswith("slurmdbd")

    def of(self, kind: str) -> tuple[Entry, ...]:
        """Return the entries of a kind, such as NodeName."""
        return self.entries.get(kind, ())


def read(folder: Folder, name: str = "slurm.conf") -> SlurmConf:
    """Return slurm.conf of a folder; each mistake is a trouble of the folder, and the rest is read."""
    reader = Reader(folder)
    settings: dict[str, list[Fact]] = {}
    entries: dict[str, list[Entry]] = {}
    defaults: dict[str, dict[str, Fact]] = {}
    for line in reader.lines(name, cluster_of(folder, name)):
        facts = _facts(folder, line)
        if not facts:
            continue
        if kind := KINDS.get(facts[0].key.lower()):
            _add(folder, entries.setdefault(kind, []), defaults.setdefault(kind, {}), facts)
            continue
        for fact in facts:
            known = settings.setdefault(fact.key.lower(), [])
            if known and fact.key.lower() not in _LISTS:
                folder.complain(known[-1].place, f"{fact.key} is repeated at {fact.place}: Slurm takes the last")
                known.clear()
            known.append(fact)
    return SlurmConf(
        {key: tuple(facts) for key, facts in settings.items()},
        {kind: tuple(of) for kind, of in entries.items()},
        tuple(reader.files),
    )


def plain(folder: Folder, name: str) -> Iterator[list[Fact]]:
    """Yield the pairs of each line of another file of Slurm, such as gres.conf, cgroup.conf or topology.conf."""
    for line in Reader(folder).lines(name):
        if facts := _facts(folder, line):
            yield facts


def _facts(folder: Folder, line: Line) -> list[Fact]:
    facts, rest = line.pairs()
    if rest:
        folder.complain(line.place, f"{quoted(rest)} is not KEY=VALUE; Slurm refuses the line")
    return facts


def _add(folder: Folder, entries: list[Entry], default: dict[str, Fact], facts: list[Fact]) -> None:
    first, *others = facts
    own: dict[str, Fact] = {}
    for fact in others:
        if fact.key.lower() in own:
            folder.complain(fact.place, f"{fact.key} is repeated in the line: Slurm takes the last")
        own[fact.key.lower()] = fact
    if first.value.lower() == "default":
        default |= own
    elif not first.value:
        folder.complain(first.place, f"{first.key} has no name")
    else:
        entries.append(Entry(first, {**default, **own}))


def cluster_of(folder: Folder, name: str = "slurm.conf") -> str:
    """Return the name of the cluster, which Include may need before its line is read."""
    quiet = Folder(folder.top)
    text = quiet.read(name) or ""
    pairs = (fact for line in lines(name, text) for fact in line.pairs()[0])
    return next((fact.value.lower() for fact in pairs if fact.key.lower() == "clustername"), "")
