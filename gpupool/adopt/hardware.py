"""A line of a node as hardware, GPUs, features and other resources of the language."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpupool.adopt.lines import Fact
from gpupool.adopt.slurm_conf import Entry
from gpupool.adopt.values import number, options, size, whole
from gpupool.slurm.tres import gpus_of_gres

#: The type of GPUs that have none in Slurm: the language needs one.
UNTYPED = "gpu"
_OTHER = re.compile(r"([a-z][a-z0-9_-]*):([0-9]{1,9})(\([^)]*\))?")
_MOST_GPUS = 1024  # of one node
_STATES = ("unknown", "idle")
_ELSEWHERE = frozenset(("nodeaddr", "nodehostname"))


@dataclass
class Machine:
    """The parts of an inventory that a line of nodes becomes; `sources` and `lost` have the facts of the line."""

    hardware: dict[str, Any] = field(default_factory=dict)
    node: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, list[Fact]] = field(default_factory=dict)
    lost: list[tuple[str, Fact]] = field(default_factory=list)
    kept: list[Fact] = field(default_factory=list)

    @property
    def alike(self) -> tuple[object, ...]:
        """The parts that are the same for machines of one entry of an inventory."""
        return self.hardware, self.node, [(fact.key.lower(), fact.value) for fact in self.kept]

    def join(self, other: "Machine") -> None:
        """Add the facts of another line with a machine that is alike."""
        for key, facts in other.sources.items():
            self.sources.setdefault(key, []).extend(facts)
        self.lost += other.lost
        self.kept += other.kept


def machine(entry: Entry, *, cores: bool, plain_gres: bool = False) -> Machine:
    """Return the machine of a line. With `cores`, Slurm allocates cores, so that sockets and threads are needed.

    With `plain_gres`, GPU types are no features, and Gres is also kept in Slurm's own words where they differ.
    """
    made, left = Machine(), dict(entry.facts)

    def say(part: dict[str, Any], key: str, value: Any, *names: str) -> None:
        part[key] = value
        made.sources.setdefault(key, []).extend(left.pop(name) for name in names if name in left)

    def attempt(part: dict[str, Any], key: str, name: str, convert: Callable[[str], Any]) -> None:
        if name in left:
            try:
                say(part, key, convert(left[name].value), name)
            except ValueError as error:
                made.lost.append((str(error), left.pop(name)))

    _count_cpus(entry, made, left, say, cores=cores)
    say(made.hardware, "real_memory", _memory(entry), "realmemory")
    attempt(made.hardware, "weight", "weight", whole)
    attempt(made.hardware, "memory_kept", "memspeclimit", size)
    attempt(made.hardware, "cores_kept", "corespeccount", whole)
    attempt(made.hardware, "cpus_kept_per_gpu", "restrictedcorespergpu", whole)
    attempt(made.hardware, "local_disk", "tmpdisk", lambda text: {"real_size": f"{whole(text)}M"})
    _count_gres(made, left, say)
    gpus = {} if plain_gres else made.node.get("gpus", {})  # each type is a feature anyway
    for name in ("feature", "features"):
        attempt(made.node, "features", name, lambda text: [word for word in options(text) if word not in gpus])
    if (state := left.get("state")) is not None:
        del left["state"]
        if state.value.lower() in _STATES:
            made.sources.setdefault("roles", []).append(state)
        else:
            made.lost.append(("a state, not configuration: slurmctld has it, `scontrol update` changes it", state))
    made.kept = [fact for name, fact in left.items() if name not in _ELSEWHERE]
    if plain_gres and (gres := entry.facts.get("gres")) and _gres_in_words(made) != gres_of(entry):
        made.kept.append(gres)
        made.lost = [(why, fact) for why, fact in made.lost if fact != gres]
    return made


def gres_of(entry: Entry) -> str:
    """Return Gres of a line in one form: sorted, in small letters, without sockets."""
    return ",".join(sorted(word.partition("(")[0].lower() for word in options(entry.value("gres") or "")))


def has_whole_cores(entry: Entry) -> bool:
    """Return whether the CPUs of a line are its sockets times cores times threads, as allocation by core needs."""
    return "sockets" in machine(entry, cores=True).hardware


def _gres_in_words(made: Machine) -> str:
    """Return Gres as gpupool writes it for the words of a machine, in the form of `gres_of`."""
    gpus, others = made.node.get("gpus", {}).items(), made.node.get("gres", {}).items()
    words = [*(f"gpu:{gpu}:{count}" for gpu, count in gpus), *(f"{name}:{count}" for name, count in others)]
    return ",".join(sorted(word.lower() for word in words))


def _memory(entry: Entry) -> int:
    try:
        return number(entry, "realmemory") or 1  # Slurm's default: 1 MiB
    except ValueError:
        return 1


def _count_cpus(entry: Entry, made: Machine, left: dict[str, Fact], say: Callable[..., None], *, cores: bool) -> None:
    """Say CPUs, and sockets, cores and threads where CPUs is their product. The missing ones are Slurm's defaults.

    Where Slurm allocates single CPUs, the others stay in Slurm's own words: the language's mean nothing there.
    """
    topology = ("boards", "sockets", "socketsperboard", "corespersocket", "threadspercore")
    names = ("cpus", "procs", *topology)
    try:
        boards = number(entry, "boards") or 1
        each, threads = number(entry, "corespersocket") or 1, number(entry, "threadspercore") or 1
        of_board = number(entry, "socketsperboard")
        given = number(entry, "cpus", "procs")
        sockets = number(entry, "sockets") or (of_board * boards if of_board else None)
    except ValueError as error:
        made.lost.extend((str(error), left.pop(name)) for name in names if name in left)
        made.hardware["cpus"] = 1
        return
    if sockets is None:
        sockets = max(1, given // (each * threads)) if given else 1
    cpus = given or sockets * each * threads
    in_slurms_words = not cores and not {"corespeccount", "restrictedcorespergpu"} & left.keys()
    if in_slurms_words and cpus in (sockets * each, sockets * each * threads):
        say(made.hardware, "cpus", cpus, "cpus", "procs")  # and parameters have the others
        return
    if cpus == sockets * each * threads and boards == 1:
        say(made.hardware, "cpus", cpus, "cpus", "procs")
        if cores or any(name in left for name in topology):
            say(made.hardware, "sockets", sockets, "sockets", "socketsperboard", "boards")
            say(made.hardware, "cores", each, "corespersocket")
            say(made.hardware, "threads", threads, "threadspercore")
        return
    say(made.hardware, "cpus", cpus, "cpus", "procs")
    why = "boards are not in the language" if boards > 1 else "CPUs is not sockets times cores times threads"
    made.lost.extend((why, left.pop(name)) for name in topology if name in left)


def _count_gres(made: Machine, left: dict[str, Fact], say: Callable[..., None]) -> None:
    fact = left.get("gres")
    if fact is None:
        return
    gpus = {name or UNTYPED: count for name, count in gpus_of_gres(_counted(fact.value)).items() if count}
    if sum(gpus.values()) > _MOST_GPUS:
        gpus = {}
        made.lost.append((f"more than {_MOST_GPUS} GPUs of a node", fact))
    others: dict[str, int] = {}
    for item in options(fact.value):
        match = _OTHER.fullmatch(item)
        if item.partition(":")[0] == "gpu" or item == "gpu":
            continue
        if match and match[1] not in ("mps", "shard") and int(match[2]):
            others[match[1]] = int(match[2])
        else:
            made.lost.append((f"the language has no resource such as {item}", fact))
    if gpus:
        say(made.node, "gpus", gpus)
    if others:
        say(made.node, "gres", others)
    made.sources.setdefault("gpus" if gpus else "gres", []).append(left.pop("gres"))


def _counted(text: str) -> str:
    """Return gres with a count where one is missing: `gpu` and `gpu:a100` are one GPU each."""
    words = []
    for word in options(text):
        name, _, more = word.partition("(")
        counted = name if name.rpartition(":")[2].isdecimal() and ":" in name else f"{name}:1"
        words.append(f"{counted}({more}" if more else counted)
    return ",".join(words)
