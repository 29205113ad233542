"""The inventory of a cluster's files: what `check` accepts of it, and the fates of all facts."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import get_args

from gpupool.adopt import plugstack
from gpupool.adopt.accounting import Dump, Proof, agreeing, dump_of, prove
from gpupool.adopt.compare import Difference, differences, mark_same
from gpupool.adopt.controller import ACCOUNTS
from gpupool.adopt.draft import Draft
from gpupool.adopt.folder import Folder
from gpupool.adopt.gres import add_gres, complain_of_gres, drop_usual_devices, keep_gres
from gpupool.adopt.hardware import has_whole_cores
from gpupool.adopt.includes import Reader
from gpupool.adopt.lines import Fact
from gpupool.adopt.nodes import Names, add_nodes, network
from gpupool.adopt.partitions import add_partitions
from gpupool.adopt.settings import add_settings, allocates_cores
from gpupool.adopt.slurm_conf import SlurmConf, plain, read
from gpupool.adopt.written import texts
from gpupool.cluster.complaints import Located
from gpupool.cluster.load import Loaded, examine
from gpupool.cluster.schema.scheduling import Left
from gpupool.errors import GpupoolError, UsageError

_FILES = ("job_submit.lua", "topology.conf")
_ROUNDS = 50  # each removes at least one key


@dataclass(frozen=True)
class Adopted:
    """The inventory's files by name, the names of the files read and of others, and the result of `check`.

    `differences` is None if `check` refuses the inventory, which then cannot be rendered. `accounting` compares
    slurmdbd's entities; None without a dump of them.
    """

    draft: Draft
    conf: SlurmConf
    files: Mapping[str, str]
    read: list[str]
    others: list[str]
    troubles: list[Located]
    loaded: Loaded
    differences: list[Difference] | None
    names: Names
    accounting: Proof | None = None


def adopted(folder: Folder, release: str, places: Mapping[str, str] | None = None) -> Adopted:
    """Return the inventory of the files in a folder; GpupoolError if it has no slurm.conf with nodes.

    Groups of gpupool's own keys of which any would differ are left to the site: the inventory is drafted again with
    them in `slurm.left` until no other group differs. `places` are the keys of `slurm` that say whose packages Slurm is
    of, if the files are those of a running controller; else None.
    """
    left: list[str] = []
    while True:
        slurm = {"version": release, **(places or {})}
        result = _adopted(Folder(folder.top, folder.origin), slurm, left, whole=places is not None)
        further = {one.group for one in result.differences or ()} - {"", *left}
        if not further:
            return result
        left = [group for group in get_args(Left) if group in {*left, *further}]


def _adopted(folder: Folder, slurm: Mapping[str, str], left: list[str], *, whole: bool) -> Adopted:
    if not folder.has("slurm.conf"):
        raise UsageError(f"{folder.top} has no slurm.conf; name the folder that the cluster has in /etc/slurm")
    conf = read(folder)
    if not conf.files:
        raise GpupoolError(f"{folder.top}/slurm.conf: {folder.troubles[-1].complaint.message}")
    if not conf.of("NodeName"):
        raise GpupoolError(f"{folder.top}/slurm.conf has no line of nodes, and an inventory needs nodes")
    draft = Draft()
    own = _own_files(folder, conf, left, whole=whole)
    dump: Dump | None = None
    cgroup, gres = (list(plain(folder, name)) if folder.has(name) else [] for name in ("cgroup.conf", "gres.conf"))
    draft.data["slurm"] = {**slurm, **({"left": left} if left else {})}
    names = _add(draft, folder, conf)
    complain_of_gres(folder, conf, gres)
    add_gres(draft, gres, names)
    drop_usual_devices(draft)
    if "gres.conf" in own:
        keep_gres(draft, gres)
    _add_others(draft, folder, conf, names, cgroup, own)
    if "accounts" in draft.data["cluster"]["manage"]:
        dump = dump_of(folder, draft.data["cluster"]["name"])
    with tempfile.TemporaryDirectory(prefix="gpupool-adopt-") as place:
        loaded = _accepted(draft, Path(place), own, folder)
    found = differences(conf, cgroup, gres, names, loaded.cluster) if loaded.cluster else None
    if found is not None:
        settings = (facts[-1] for facts in conf.settings.values())
        mark_same(draft, [*settings, *chain.from_iterable(cgroup)], found)
    proof = None
    if dump and loaded.cluster:
        dump = agreeing(dump, loaded.cluster, folder)
        own[ACCOUNTS], proof = dump.text, prove(dump, loaded.cluster)
    further = [name for name in ("gres.conf", "cgroup.conf", plugstack.NAME) if folder.has(name)]
    further += [dump.name] if dump else []
    used = list(dict.fromkeys((*conf.files, *further, *own)))
    others = [name for name in folder.names() if name not in used]
    return Adopted(draft, conf, _all(draft, own), used, others, folder.troubles, loaded, found, names, proof)


def _add(draft: Draft, folder: Folder, conf: SlurmConf) -> Names:
    draft.data["schema"] = 1
    name = conf.value("clustername") or "cluster"
    safe = ".".join(re.sub(r"[^a-z0-9_-]", "-", part) or "-" for part in name.lower().split("."))
    draft.say(("cluster", "name"), safe if safe[:1].isalpha() else f"c-{safe}", *conf.settings.get("clustername", ()))
    cores = allocates_cores(conf) and all(map(has_whole_cores, conf.of("NodeName")))
    names = add_nodes(draft, folder, conf, cores=cores)
    if not names.new:
        reasons = "\n".join(map(str, folder.troubles))
        raise GpupoolError(f"{folder.top}/slurm.conf has no line of nodes that can be read\n{reasons}".rstrip())
    manage = ["slurm", "accounts"] if conf.has_slurmdbd else ["slurm"]
    draft.data["cluster"] |= {"network": network(draft), "inferred": ["network"], "manage": manage}
    draft.data["scheduler"] = {"allocate": "core" if cores else "thread"}
    return names


def _add_others(
    draft: Draft, folder: Folder, conf: SlurmConf, names: Names, cgroup: list[list[Fact]], own: Mapping[str, str]
) -> None:
    add_partitions(draft, folder, conf, names)
    add_settings(draft, conf, cgroup, own)
    if draft.data.get("qos"):
        draft.data["qos"].setdefault("normal", {})["default"] = True
    for kind in ("NodeSet", "DownNodes", "FrontendName", "SwitchName"):
        for entry in conf.of(kind):
            _drop(draft, kind, [entry.head, *entry.facts.values()])


def _drop(draft: Draft, kind: str, facts: list[Fact]) -> None:
    if kind == "NodeSet":
        draft.say(("partitions",), draft.data.setdefault("partitions", []), *facts)
    elif kind == "DownNodes":
        draft.drop("a state, not configuration: slurmctld has it, `scontrol update` changes it", *facts)
    else:
        draft.drop("the language has no such line", *facts)


def _own_files(folder: Folder, conf: SlurmConf, left: list[str], *, whole: bool) -> dict[str, str]:
    """Return the site's own files that the folder `slurm` of an inventory takes."""
    plugins = (conf.value("jobsubmitplugins") or "").lower().split(",")
    used = {"job_submit.lua": "lua" in plugins}
    names = [name for name in _FILES if folder.has(name) and used.get(name, True)]
    found = {name: folder.read(name) for name in names}
    found[plugstack.NAME] = plugstack.plugstack_of(folder, whole=whole) if folder.has(plugstack.NAME) else ""
    if "gpus" in left and folder.has("gres.conf"):  # with the lines of included files, which nodes do not have
        found["gres.conf"] = "".join(f"{line.text.strip()}\n" for line in Reader(Folder(folder.top)).lines("gres.conf"))
    return {name: text for name, text in found.items() if text}


def _accepted(draft: Draft, place: Path, own: dict[str, str], folder: Folder) -> Loaded:
    """Remove keys that `check` refuses until it refuses none that can be removed; return what it says at the end."""
    for _ in range(_ROUNDS):
        _write(place, _all(draft, own))
        loaded = examine(place)
        removed = False
        for located in loaded.errors:
            complaint = located.complaint
            why = f"{complaint.message}{f' ({complaint.hint})' if complaint.hint else ''}"
            file = Path(located.place.file)
            if file.parent.name == "slurm" and file.name in own:
                folder.complain(type(located.place)(file.name, located.place.line), f"not taken: {why}")
                del own[file.name]
                (place / "slurm" / file.name).unlink()
                removed = True
            elif draft.prune(complaint.path, why):
                removed = True
        if not removed:
            break
    return loaded


def _all(draft: Draft, own: Mapping[str, str]) -> dict[str, str]:
    return {**texts(draft), **{f"slurm/{name}": text for name, text in own.items()}}


def _write(place: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def ensure_new(to: Path) -> None:
    """Raise UsageError unless a folder is new or empty."""
    if to.is_symlink() or (to.exists() and (not to.is_dir() or any(to.iterdir()))):
        raise UsageError(f"{to} exists and is not empty; name a new folder")


def write(to: Path, files: Mapping[str, str]) -> None:
    """Write an inventory to a new or empty folder, whole or not at all; GpupoolError if that fails."""
    with _beside(to) as place:
        _write(place, files)
        place.chmod(0o755)
        place.rename(to)


@contextmanager
def _beside(to: Path) -> Iterator[Path]:
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=f".{to.name}.", dir=to.parent))
    except OSError as error:
        raise GpupoolError(f"{to}: {error.strerror}") from None
    try:
        yield place
    except OSError as error:
        raise GpupoolError(f"{to}: {error.strerror}") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)
