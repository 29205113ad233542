"""gres.conf as device files of nodes and AutoDetect of GPU types."""

from collections.abc import Iterable, Mapping

from gpupool.adopt.draft import Draft
from gpupool.adopt.folder import Folder
from gpupool.adopt.hardware import UNTYPED
from gpupool.adopt.lines import Fact
from gpupool.adopt.nodes import Names
from gpupool.adopt.slurm_conf import SlurmConf
from gpupool.adopt.values import options
from gpupool.slurm.hostlists import expanded, fold_set

_DETECTED = frozenset(("nvml", "nvidia", "rsmi", "oneapi"))
_TYPED = 2  # colons in name:type:count
_SAID = ("name", "type", "file", "multiplefiles", "count")


def add_gres(draft: Draft, lines: Iterable[list[Fact]], names: Names) -> None:
    """Add gres.conf to a draft that has its nodes."""
    for line in lines:
        facts = {fact.key.lower(): fact for fact in line}
        of = facts.pop("nodename", None)
        here = {names.new[name] for name in expanded(of.value) if name in names.new} if of else {*names.new.values()}
        if (detect := facts.pop("autodetect", None)) is not None:
            _detect(draft, here, detect)
        if of is not None:
            _taken(draft, of)
        if "name" in facts:
            _device(draft, here, facts)
        else:
            draft.drop("the language has no such line of gres.conf", *facts.values())


def keep_gres(draft: Draft, lines: Iterable[list[Fact]]) -> None:
    """Record that the lines of gres.conf stay as they are, in a file of the folder `slurm`."""
    for line in lines:
        draft.keep_in("slurm/gres.conf", *line)


def complain_of_gres(folder: Folder, conf: SlurmConf, lines: Iterable[list[Fact]]) -> None:
    """Name the nodes and types of GPUs in gres.conf that slurm.conf does not have: Slurm ignores them."""
    types = {
        node: {word.split(":")[1].lower() for word in options(entry.value("gres") or "") if word.count(":") == _TYPED}
        for entry in conf.of("NodeName")
        for node in expanded(entry.name)
    }
    for line in lines:
        facts = {fact.key.lower(): fact for fact in line}
        if (of := facts.get("nodename")) is None:
            continue
        nodes = expanded(of.value)
        if unknown := [node for node in nodes if node not in types]:
            folder.complain(of.place, f"no line of nodes has {fold_set(unknown)}", "Slurm ignores it here")
        kind = facts["type"].value.lower() if "type" in facts else ""
        if without := [node for node in nodes if kind and types.get(node) and kind not in types[node]]:
            folder.complain(of.place, f"Gres of {fold_set(without)} in slurm.conf has no GPU of type {kind}")


def _detect(draft: Draft, here: set[str], fact: Fact) -> None:
    word = fact.value.lower()
    types = {gpu for node in draft.data["nodes"] if here & {*expanded(node["name"])} for gpu in node.get("gpus", {})}
    if word not in _DETECTED or not types:
        draft.drop("gpupool writes the files of devices", fact)
        return
    for gpu in types:
        draft.say(("gpu_types", gpu, "autodetect"), word, fact)


def _device(draft: Draft, here: set[str], facts: Mapping[str, Fact]) -> None:
    others = [fact for key, fact in facts.items() if key not in _SAID]
    if others:
        draft.drop("the language has no such key of gres.conf", *others)
    said = [facts[key] for key in _SAID if key in facts]
    if facts["name"].value.lower() != "gpu":
        _taken(draft, *said)
        return
    gpu = facts["type"].value if "type" in facts else UNTYPED
    files = expanded(facts["file"].value) if "file" in facts else []
    found = False
    for index, node in enumerate(draft.data["nodes"]):
        if gpu in node.get("gpus", {}) and here & {*expanded(node["name"])}:
            found = True
            known = [*node.get("devices", {}).get(gpu, ()), *files]
            if files:
                draft.say(("nodes", index, "devices", gpu), known, *said)
            else:
                _taken(draft, *said)
    if not found:
        draft.drop(f"no node of the inventory has a GPU of type {gpu}", *said)


def drop_usual_devices(draft: Draft) -> None:
    """Remove the device files that the language has without `devices`: /dev/nvidia0, 1, … in the order of `gpus`."""
    for node in draft.data["nodes"]:
        if (devices := node.get("devices")) is None:
            continue
        files = [file for gpu in node["gpus"] for file in devices.get(gpu, ())]
        usual = [f"/dev/nvidia{minor}" for minor in range(len(files))]
        if files == usual and len(files) == sum(node["gpus"].values()) and [*devices] == [*node["gpus"]]:
            del node["devices"]


def _taken(draft: Draft, *facts: Fact) -> None:
    draft.say(("nodes",), draft.data["nodes"], *facts)
