"""Nodes of a running cluster, asked over SSH in parallel: hardware, GPUs, mounts, and where slurm.conf comes from."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from gpupool.addresses import is_ipv4
from gpupool.adopt.slurm_conf import Entry, SlurmConf
from gpupool.errors import GpupoolError
from gpupool.remote.nodes import Nodes
from gpupool.shell import shell_file
from gpupool.slurm.hostlists import expanded, one_each

#: Which nodes are asked: one of each line of nodes, all, or none.
Ask = Literal["kinds", "all", "none"]
_SCRIPT = shell_file(__package__, "asked.sh")
_SECONDS = 60.0
_AT_ONCE = 32
# keys that the node's hardware fixes, in the words of `slurmd -C`
_SHAPE = {"boards": "Boards", "corespersocket": "CoresPerSocket", "threadspercore": "ThreadsPerCore"}


@dataclass(frozen=True)
class Asked:
    """The answer of a node, or why there is none (`failure`).

    `source` is where slurmd has slurm.conf from; `gres` are lines of `slurmd -G`; `mounts` are network file systems, as
    "DIRECTORY TYPE SOURCE". `differences` are those of its hardware from its line in slurm.conf.
    """

    node: str
    failure: str = ""
    source: str = ""
    gres: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()


def chosen(conf: SlurmConf, ask: Ask, silent: Sequence[str]) -> dict[str, Entry]:
    """Return the nodes to ask, with their lines; of each line the first that slurmctld does not call silent."""
    found: dict[str, Entry] = {}
    for entry in conf.of("NodeName") if ask != "none" else ():
        names = expanded(entry.name)
        if ask == "kinds":
            names = [name for name in names if name not in silent][:1] or names[:1]
        found |= dict.fromkeys(names, entry)
    return found


def addresses(nodes: Mapping[str, Entry]) -> dict[str, str]:
    """Return where SSH reaches nodes: NodeAddr if this is an IP address, else "", the admin's own SSH configuration."""
    found = {}
    for name, entry in nodes.items():
        names = expanded(entry.name)
        of = dict(zip(names, one_each(expanded(entry.value("nodeaddr") or ""), len(names)), strict=False))
        found[name] = of[name] if name in of and is_ipv4(of[name]) else ""
    return found


def ask_all(nodes: Nodes, lines: Mapping[str, Entry]) -> list[Asked]:
    """Ask nodes in parallel; a node that does not answer is in the list, too."""
    if not lines:
        return []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda name: _ask(nodes, name, lines[name]), lines))


def read(node: str, out: str, entry: Entry) -> Asked:
    """Return the answer of a node from the output of the script."""
    rows = [line.partition("\t") for line in out.splitlines()]
    if not rows or rows[-1][0] != "end":
        return Asked(node, "the answer is incomplete")

    def of(kind: str) -> tuple[str, ...]:
        return tuple(value for name, _, value in rows if name == kind)

    hardware = next((_pairs(line) for line in of("hardware") if line.startswith("NodeName=")), None)
    differences = ("there is no slurmd",) if hardware is None else tuple(_differences(entry, hardware))
    return Asked(node, "", "".join(of("source")[:1]), of("gres"), of("mount"), differences)


def _ask(nodes: Nodes, name: str, entry: Entry) -> Asked:
    try:
        return read(name, nodes.output_on(name, "sh", "-c", _SCRIPT, seconds=_SECONDS), entry)
    except GpupoolError as error:
        return Asked(name, str(error).removeprefix(f"{name}: "))


def _differences(entry: Entry, machine: Mapping[str, int]) -> Iterator[str]:
    """Yield where a line claims other hardware: slurmd drains a node with less, and does not use more."""
    boards, cores = machine.get("boards", 1), machine.get("corespersocket", 1)
    sockets = boards * machine.get("socketsperboard", 1)
    for key, word in _SHAPE.items():
        if (line := _number(entry, key)) is not None and line != machine.get(key):
            yield f"{word}={line}, but the node has {machine.get(key)}"
    of_boards = (_number(entry, "socketsperboard") or 0) * (_number(entry, "boards") or 1)
    line = _number(entry, "sockets") or of_boards or None
    if line is not None and line != sockets:
        yield f"Sockets={line}, but the node has {sockets}"
    # Slurm may count the threads of a core as one CPU
    line = _number(entry, "cpus", "procs")
    if line is not None and line not in (machine.get("cpus"), sockets * cores):
        yield f"CPUs={line}, but the node has {machine.get('cpus')}"
    line = _number(entry, "realmemory")
    if line is not None and line > machine.get("realmemory", 0):
        yield f"RealMemory={line}, but the node has {machine.get('realmemory')}"


def _number(entry: Entry, *keys: str) -> int | None:
    value = entry.value(*keys) or ""
    return int(value) if value.isdecimal() else None


def _pairs(line: str) -> dict[str, int]:
    pairs = (word.partition("=") for word in line.split())
    return {key.lower(): int(value) for key, _, value in pairs if value.isdecimal()}
