"""The meaning of gres.conf: the devices of each node, so that two files can be compared. Source: gres.conf(5)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gpupool.adopt.lines import Fact
from gpupool.adopt.slurm_conf import SlurmConf
from gpupool.adopt.values import options
from gpupool.slurm.hostlists import expanded, fold_set

_ELSEWHERE = frozenset(("nodename", "name", "file", "autodetect"))


class _Part(NamedTuple):
    """A resource of a line: its name, its keys but File in one form, and its files."""

    name: str
    keys: str
    files: tuple[str, ...]


def meaning_of_gres(conf: SlurmConf, lines: Iterable[list[Fact]]) -> dict[tuple[str, str, str], str]:
    """Return the devices of each node by their place in a meaning: ("gres", "gpu", node).

    A line without NodeName is for all nodes, and Slurm ignores the lines of a resource that a node's Gres lacks. Lines
    with the same keys are one, however their files are divided.
    """
    has = {
        node: names
        for entry in conf.of("NodeName")
        if (names := _resources(entry.value("gres") or ""))
        for node in expanded(entry.name)
    }
    parts: list[_Part] = []
    of_node: dict[tuple[str, str], list[int]] = {}
    for line in lines:
        facts = {fact.key.lower(): fact.value for fact in line}
        nodes = expanded(facts["nodename"]) if "nodename" in facts else [*has]
        for part in _of_line(facts):
            for node in nodes:
                if part.name in has.get(node, ()):
                    of_node.setdefault((part.name, node), []).append(len(parts))
            parts.append(part)
    # nodes with the same lines have one description, as their files may be many
    described = {chosen: _described([parts[one] for one in chosen]) for chosen in {*map(tuple, of_node.values())}}
    return {("gres", name, node): described[tuple(chosen)] for (name, node), chosen in of_node.items()}


def _of_line(facts: Mapping[str, str]) -> Iterator[_Part]:
    detect = facts.get("autodetect", "off").lower()
    if detect != "off":
        yield _Part("gpu", f"autodetect={detect}", ())
    if name := facts.get("name", "").lower():
        files = tuple(expanded(facts["file"])) if "file" in facts else ()
        words = {key: value.lower() for key, value in facts.items() if key not in _ELSEWHERE}
        if files and words.get("count") == str(len(files)):
            del words["count"]  # as many as its files, which is the default
        yield _Part(name, " ".join(f"{key}={value}" for key, value in sorted(words.items())), files)


def _described(parts: Iterable[_Part]) -> str:
    files: dict[str, list[str]] = {}
    for part in parts:
        files.setdefault(part.keys, []).extend(part.files)
    resources = (f"{keys} file={fold_set(of)}".strip() if of else keys for keys, of in files.items())
    return "; ".join(sorted(resources))


def _resources(text: str) -> frozenset[str]:
    return frozenset(word.partition(":")[0].lower() for word in options(text))
